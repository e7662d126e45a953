#include "kernels/covering_sample.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hone {
namespace {

TEST(CoveringSample, IsTheWholeOfASmallSpace) {
  SearchSpace space;
  space.integer("a", {1, 2, 3}).boolean("b").rule("a < 3 or b");
  const CoveringSample sample = covering_sample(space, 200);
  EXPECT_EQ(sample.configurations.size(), 5U);
  EXPECT_EQ(sample.impossible, (std::vector<ValuePair>{{0, 3, 1, 0}}));
}

TEST(CoveringSample, FindsPairsThatSamplesMiss) {
  SearchSpace space;
  space.range("a", 1, 60).range("b", 1, 60).boolean("c");
  // c is set in one configuration of thousands.
  space.rule({"a", "b", "c"}, [](std::span<const std::int64_t> v) { return v[2] == 0 || (v[0] == 7 && v[1] == 9); });
  const CoveringSample sample = covering_sample(space, 10);
  bool found = false;
  for (const Configuration& configuration : sample.configurations) {
    found = found || (configuration.values()[2] == 1 && configuration.text() == "a=7,b=9,c=1");
  }
  EXPECT_TRUE(found);
}

TEST(CoveringSample, IsTheSameEveryTimeAndHasNoRepetitions) {
  SearchSpace space;
  for (const char* name : {"a", "b", "c", "d", "e"}) space.range(name, 0, 5);
  const CoveringSample first = covering_sample(space, 100), again = covering_sample(space, 100);
  EXPECT_EQ(first.configurations, again.configurations);
  EXPECT_TRUE(first.impossible.empty());
  std::set<std::string> texts;
  for (const Configuration& configuration : first.configurations) texts.insert(configuration.text());
  EXPECT_EQ(texts.size(), first.configurations.size());
  EXPECT_GE(texts.size(), 100U);
}

TEST(CoveringSample, HasNothingOfAnEmptySpace) {
  SearchSpace space;
  space.integer("a", {1, 2}).rule("a > 2");
  const CoveringSample sample = covering_sample(space, 10);
  EXPECT_TRUE(sample.configurations.empty());
  EXPECT_EQ(sample.impossible.size(), 2U);
}

}  // namespace
}  // namespace hone
