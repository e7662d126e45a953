#include "engine/observed_times.hpp"

#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace hone::engine {
namespace {

using namespace std::chrono_literals;

std::optional<double> add_window(ObservedTimes& times, std::chrono::nanoseconds time) {
  std::optional<ObservedTimes::Window> told;
  for (std::uint32_t i = 0; i < ObservedTimes::window; ++i) told = times.add(time);
  return told ? std::optional(told->drift) : std::nullopt;
}

TEST(ObservedTimes, ComparesEveryWindowWithTheFirst) {
  ObservedTimes times;
  EXPECT_EQ(times.median(), 0);
  EXPECT_EQ(add_window(times, 100us), 1.0) << "the first window is the measure";
  EXPECT_NEAR(times.median(), 100'000, 100'000 * ObservedTimes::resolution);
  EXPECT_NEAR(add_window(times, 100us).value(), 1.0, 0.03);
  EXPECT_NEAR(add_window(times, 150us).value(), 1.5, 0.05);
  EXPECT_NEAR(add_window(times, 50us).value(), 0.5, 0.02);
}

TEST(ObservedTimes, TellNothingWithinAWindow) {
  ObservedTimes times;
  add_window(times, 100us);
  for (std::uint32_t i = 0; i + 1 < ObservedTimes::window; ++i) EXPECT_FALSE(times.add(100us));
  EXPECT_TRUE(times.add(100us));
}

TEST(ObservedTimes, TakeTheMedianSoThatOutliersDoNotCount) {
  ObservedTimes times;
  add_window(times, 100us);
  std::mt19937_64 random(1);
  std::optional<ObservedTimes::Window> told;
  for (std::uint32_t i = 0; i < ObservedTimes::window; ++i) told = times.add(random() % 4 == 0 ? 50ms : 101us);
  EXPECT_NEAR(told.value().drift, 1.0, 0.05);
}

TEST(ObservedTimes, BoundWhatIsFarAway) {
  ObservedTimes times;
  add_window(times, 1us);
  EXPECT_GT(add_window(times, 10s).value(), 10);
  EXPECT_LT(add_window(times, 1ns).value(), 0.1);
}

TEST(ObservedTimes, AreAddedByManyThreads) {
  ObservedTimes times;
  std::atomic<int> windows{0}, drifts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 6400; ++i) {
        if (const auto drift = times.add(100us)) {
          ++windows;
          if (drift->drift > 1.1 || drift->drift < 0.9) ++drifts;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(windows, 4 * 6400 / 64);
  EXPECT_EQ(drifts, 0);
}

}  // namespace
}  // namespace hone::engine
