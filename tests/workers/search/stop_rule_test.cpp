#include "workers/search/stop_rule.hpp"

#include <gtest/gtest.h>

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using Time = Strategy::Time;

TEST(SearchProgress, CountsFailuresAndTiesAsNoImprovement) {
  SearchProgress progress;
  progress.add({});
  EXPECT_EQ(progress.without_improvement, 1u);
  progress.add(Time(10));
  EXPECT_EQ(progress.without_improvement, 0u);
  progress.add(Time(10));
  progress.add({});
  progress.add(Time(11));
  EXPECT_EQ(progress.without_improvement, 3u);
  EXPECT_EQ(progress.best, Time(10));
  EXPECT_EQ(progress.evaluations, 5u);
}

TEST(StopRule, GoesOnWithoutLimits) {
  EXPECT_EQ(stop_reason({}, {.evaluations = 1000, .without_improvement = 1000, .elapsed = 10h, .best = Time(1)}),
            StopReason::none);
}

TEST(StopRule, EachLimitStopsWhenItIsReachedAndNotBefore) {
  EXPECT_EQ(stop_reason({.evaluations = 5}, {.evaluations = 4}), StopReason::none);
  EXPECT_EQ(stop_reason({.evaluations = 5}, {.evaluations = 5}), StopReason::evaluations);
  EXPECT_EQ(stop_reason({.patience = 3}, {.evaluations = 9, .without_improvement = 2}), StopReason::none);
  EXPECT_EQ(stop_reason({.patience = 3}, {.evaluations = 9, .without_improvement = 3}), StopReason::patience);
  EXPECT_EQ(stop_reason({.wall_time = 1s}, {.elapsed = 999ms}), StopReason::none);
  EXPECT_EQ(stop_reason({.wall_time = 1s}, {.elapsed = 1s}), StopReason::wall_time);
  EXPECT_EQ(stop_reason({.target = Time(10)}, {}), StopReason::none);
  EXPECT_EQ(stop_reason({.target = Time(10)}, {.best = Time(10.5)}), StopReason::none);
  EXPECT_EQ(stop_reason({.target = Time(10)}, {.best = Time(10)}), StopReason::target);
}

TEST(StopRule, TheTargetIsTheReasonWhenALimitIsReachedWithIt) {
  EXPECT_EQ(stop_reason({.evaluations = 5, .patience = 1, .wall_time = 1s, .target = Time(10)},
                        {.evaluations = 5, .without_improvement = 1, .elapsed = 1s, .best = Time(9)}),
            StopReason::target);
}

}  // namespace
}  // namespace hone::workers
