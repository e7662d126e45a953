// What holds for every strategy on every space.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <set>

#include "tests/support/small_space.hpp"
#include "workers/search/strategy.hpp"

namespace hone::workers {
namespace {

using test::make_small_space;
using test::SmallSpace;
using Time = Strategy::Time;
using Point = std::vector<std::int64_t>;
using Trials = std::vector<std::pair<Configuration, std::optional<Time>>>;

// The outcome of a configuration: a made-up time, or a failure for a share of them that the seed decides.
struct Outcomes {
  std::uint64_t seed = 0;
  std::uint64_t failing_of_16 = 0;

  std::optional<Time> operator()(const Configuration& configuration) const {
    std::uint64_t hash = seed;
    double time = 100;
    for (const std::int64_t value : configuration.values()) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u;
      time += static_cast<double>((value + 3) * (value + 3) % 11);
    }
    if ((hash >> 60) < failing_of_16) return std::nullopt;
    return Time(time);
  }
};

Outcomes make_outcomes() {
  return {*rc::gen::arbitrary<std::uint64_t>(), static_cast<std::uint64_t>(*rc::gen::element(0, 4, 16))};
}

StrategyOptions make_options(const SmallSpace& small) {
  StrategyOptions options{.seed = *rc::gen::arbitrary<std::uint64_t>()};
  options.exploration = *rc::gen::element(0.0, 0.05, 1.0);
  const auto valid = small.brute_force();
  for (int i = *rc::gen::inRange(0, 3); i > 0 && !valid.empty(); --i) {
    options.first.push_back(small.space.configuration(*rc::gen::elementOf(valid)));
  }
  const Outcomes elsewhere = make_outcomes();
  for (int i = *rc::gen::inRange(0, 20); i > 0 && !valid.empty(); --i) {
    Configuration tried = small.space.configuration(*rc::gen::elementOf(valid));
    const auto time = elsewhere(tried);
    options.prior.push_back({std::move(tried), time});
  }
  return options;
}

// Evaluates at most `evaluations` configurations.
Trials search(Strategy& strategy, const Outcomes& outcomes, std::size_t evaluations) {
  Trials trials;
  while (trials.size() < evaluations) {
    const auto next = strategy.suggest();
    if (!next) break;
    trials.emplace_back(*next, outcomes(*next));
    strategy.observe(*next, trials.back().second);
  }
  return trials;
}

class EveryStrategy : public ::testing::TestWithParam<std::string_view> {};

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy,
                         ::testing::ValuesIn(strategy_names().begin(), strategy_names().end()),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(EveryStrategy, SuggestsEveryValidConfigurationOnceAndNothingElse) {
  std::size_t points = 0;
  const auto holds = [&] {
    const SmallSpace small = make_small_space(4, 8);
    const Outcomes outcomes = make_outcomes();
    const auto strategy = make_strategy(GetParam(), small.space, make_options(small));
    const auto ahead = *rc::gen::inRange<std::size_t>(1, 5);  // suggested before the first of them is observed
    std::set<Point> seen;
    std::deque<Configuration> waiting;
    while (const auto next = strategy->suggest()) {
      RC_ASSERT(small.space.contains(*next));
      RC_ASSERT(seen.emplace(next->values().begin(), next->values().end()).second);
      waiting.push_back(*next);
      if (waiting.size() < ahead) continue;
      strategy->observe(waiting.front(), outcomes(waiting.front()));
      waiting.pop_front();
    }
    const auto expected = small.brute_force();
    RC_ASSERT(seen == std::set<Point>(expected.begin(), expected.end()));
    RC_ASSERT(!strategy->suggest());
    points += expected.size();
  };
  // A hundred random spaces may be small ones all.
  for (int round = 0; round < 20 && points <= 1000; ++round) EXPECT_TRUE(rc::check(holds));
  EXPECT_GT(points, 1000u) << "the spaces were too small to tell anything";
}

TEST_P(EveryStrategy, ResumedEqualsUninterrupted) {
  EXPECT_TRUE(rc::check([&] {
    const SmallSpace small = make_small_space(3, 7);
    const Outcomes outcomes = make_outcomes();
    const StrategyOptions options = make_options(small);
    const auto uninterrupted = make_strategy(GetParam(), small.space, options);
    const Trials stored = search(*uninterrupted, outcomes, *rc::gen::inRange<std::size_t>(0, 80));
    const auto resumed = make_strategy(GetParam(), small.space, options);
    for (const auto& [configuration, time] : stored) resumed->observe(configuration, time);
    const Trials expected = search(*uninterrupted, outcomes, 20);
    const Trials found = search(*resumed, outcomes, 20);
    RC_ASSERT(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) RC_ASSERT(found[i].first == expected[i].first);
  }));
}

}  // namespace
}  // namespace hone::workers
