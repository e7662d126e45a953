#include "workers/search/strategy.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <hone/error.hpp>
#include <set>

namespace hone::workers {
namespace {

using ::testing::HasSubstr;
using Time = Strategy::Time;

SearchSpace small_space() {
  SearchSpace space;
  space.integer("x", {1, 2, 4, 8}).range("y", 0, 6).boolean("b").rule("x * y <= 24 or b == 1");
  return space;
}

// More points than a strategy lists.
SearchSpace large_space() {
  SearchSpace space;
  for (int i = 0; i < 6; ++i) space.range(fmt::format("p{}", i), 0, 9);
  space.rule("p0 + p1 <= 12");
  return space;
}

// A valley with failures on one side: what a tuned kernel looks like.
std::optional<Time> evaluate(const Configuration& configuration) {
  double sum = 1;
  double weight = 1;
  for (const std::int64_t value : configuration.values()) {
    sum += weight * std::abs(static_cast<double>(value) - 3.3);
    weight *= 1.3;
  }
  if (configuration.values()[0] + configuration.values()[1] == 5) return std::nullopt;
  return Time(1000 * sum);
}

using Trials = std::vector<std::pair<Configuration, std::optional<Time>>>;

Trials search(Strategy& strategy, std::size_t evaluations) {
  Trials trials;
  while (trials.size() < evaluations) {
    const auto next = strategy.suggest();
    if (!next) break;
    trials.emplace_back(*next, evaluate(*next));
    strategy.observe(*next, trials.back().second);
  }
  return trials;
}

std::vector<std::string> texts(const Trials& trials) {
  std::vector<std::string> texts;
  for (const auto& trial : trials) texts.push_back(trial.first.text());
  return texts;
}

class AnyStrategy : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Strategy> make(const SearchSpace& space, StrategyOptions options = {}) {
    return make_strategy(GetParam(), space, std::move(options));
  }
  bool lists_the_whole_space() const { return GetParam() == "exhaustive"; }
};

INSTANTIATE_TEST_SUITE_P(Strategies, AnyStrategy, ::testing::ValuesIn(strategy_names().begin(), strategy_names().end()),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(AnyStrategy, SuggestsEveryConfigurationOnce) {
  const SearchSpace space = small_space();
  const auto strategy = make(space);
  const Trials trials = search(*strategy, 1000);
  std::set<std::string> distinct;
  for (const auto& [configuration, time] : trials) {
    EXPECT_TRUE(space.contains(configuration));
    EXPECT_TRUE(distinct.insert(configuration.text()).second) << configuration.text();
  }
  EXPECT_EQ(distinct.size(), space.count());
  EXPECT_FALSE(strategy->suggest());
}

TEST_P(AnyStrategy, SuggestsAheadWithoutRepeating) {
  const SearchSpace space = small_space();
  const auto strategy = make(space);
  std::set<std::string> distinct;
  std::vector<Configuration> waiting;
  while (const auto next = strategy->suggest()) {
    EXPECT_TRUE(distinct.insert(next->text()).second);
    waiting.push_back(*next);
    if (waiting.size() == 4) {
      for (const Configuration& configuration : waiting) strategy->observe(configuration, evaluate(configuration));
      waiting.clear();
    }
  }
  EXPECT_EQ(distinct.size(), space.count());
}

TEST_P(AnyStrategy, StartsWithTheGivenConfigurations) {
  const SearchSpace space = small_space();
  SearchSpace other;
  other.integer("x", {1}).integer("y", {99}).boolean("b");
  const auto strategy = make(space, {.first = {*space.parse("x=8,y=3,b=0"), *other.parse("x=1,y=99,b=0"),
                                               *space.parse("x=2,y=1,b=1"), *space.parse("x=8,y=3,b=0")}});
  strategy->observe(*space.parse("x=2,y=1,b=1"), Time(5));
  EXPECT_EQ(strategy->suggest()->text(), "x=8,y=3,b=0");
  const auto next = strategy->suggest();
  ASSERT_TRUE(next);
  EXPECT_NE(next->text(), "x=2,y=1,b=1");
}

TEST_P(AnyStrategy, WhatWasObservedElsewhereIsNotSuggested) {
  const SearchSpace space = small_space();
  const auto strategy = make(space);
  std::set<std::string> seen;
  space.for_each([&](const Configuration& configuration) {
    strategy->observe(configuration, evaluate(configuration));
    seen.insert(configuration.text());
    return seen.size() < 10;
  });
  for (const std::string& text : texts(search(*strategy, 1000))) EXPECT_TRUE(seen.insert(text).second);
  EXPECT_EQ(seen.size(), space.count());
}

TEST_P(AnyStrategy, SurvivesASpaceOfFailures) {
  const SearchSpace space = small_space();
  const auto strategy = make(space);
  std::size_t evaluations = 0;
  while (const auto next = strategy->suggest()) {
    strategy->observe(*next, evaluations % 3 == 0 ? std::nullopt : std::optional(Time(evaluations % 3 == 1 ? -1 : 0)));
    ++evaluations;
  }
  EXPECT_EQ(evaluations, space.count());
}

TEST_P(AnyStrategy, HasNothingToSuggestInAnEmptySpace) {
  SearchSpace none = small_space();
  none.rule("x == 3");
  EXPECT_FALSE(make(none)->suggest());
  const auto strategy = make(SearchSpace());
  EXPECT_TRUE(strategy->suggest()->empty());
  EXPECT_FALSE(strategy->suggest());
}

TEST_P(AnyStrategy, WorksOnASpaceTooLargeToList) {
  if (lists_the_whole_space()) GTEST_SKIP() << "exhaustive lists every configuration";
  const SearchSpace space = large_space();
  std::set<std::string> distinct;
  for (const auto& [configuration, time] : search(*make(space), 300)) {
    EXPECT_TRUE(space.contains(configuration));
    EXPECT_TRUE(distinct.insert(configuration.text()).second);
  }
  EXPECT_EQ(distinct.size(), 300u);
}

TEST_P(AnyStrategy, ResumedEqualsUninterrupted) {
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    const bool large = !lists_the_whole_space() && *rc::gen::arbitrary<bool>();
    const SearchSpace space = large ? large_space() : small_space();
    const StrategyOptions options{
        .seed = seed, .first = {space.configuration(std::vector<std::int64_t>(space.parameters().size(), 1))}};
    const auto before = *rc::gen::inRange<std::size_t>(0, 60);
    const auto uninterrupted = make(space, options);
    const Trials stored = search(*uninterrupted, before);
    const auto resumed = make(space, options);
    for (const auto& [configuration, time] : stored) resumed->observe(configuration, time);
    RC_ASSERT(texts(search(*resumed, 15)) == texts(search(*uninterrupted, 15)));
  }));
}

TEST_P(AnyStrategy, TheSeedDecides) {
  if (lists_the_whole_space()) GTEST_SKIP() << "exhaustive draws nothing";
  const SearchSpace space = large_space();
  const auto run = [&](std::uint64_t seed) { return texts(search(*make(space, {.seed = seed}), 20)); };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

TEST(MakeStrategy, NamesWhatIsAccepted) {
  const auto message = [](auto name, StrategyOptions options) -> std::string {
    try {
      make_strategy(name, large_space(), std::move(options));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message("ramdom", {}), HasSubstr("the strategies are "));
  EXPECT_THAT(message("random", {.exploration = 1.5}), HasSubstr("from 0 to 1"));
  SearchSpace large = large_space();
  large.range("q", 0, 9);
  EXPECT_THROW(make_strategy("exhaustive", large), Error);
}

TEST(RandomStrategy, DrawsUniformly) {
  // The first of three draws without replacement from 4 points, over many seeds.
  SearchSpace space;
  space.range("x", 0, 3);
  std::vector<int> seen(4);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    ++seen[static_cast<std::size_t>(make_strategy("random", space, {.seed = seed})->suggest()->values()[0])];
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace hone::workers
