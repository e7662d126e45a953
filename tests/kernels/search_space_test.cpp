#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <hone/error.hpp>
#include <hone/search_space.hpp>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "kernels/rule_expression.hpp"
#include "tests/support/small_space.hpp"

namespace hone {
namespace {

using test::make_small_space;
using test::SmallSpace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::invalid_option));
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

std::string numbered(std::size_t i) { return fmt::format("p{}", i); }

std::vector<std::string> texts(const SearchSpace& space) {
  std::vector<std::string> all;
  space.for_each([&](const Configuration& c) {
    all.push_back(c.text());
    return true;
  });
  return all;
}

SearchSpace blocked() {
  SearchSpace space;
  space.integer("mr", {4, 6, 8}).power_of_two("nc", 8, 32).boolean("pack").enumeration("order", {"ijk", "ikj"});
  space.rule({"mr", "nc"}, [](std::span<const std::int64_t> v) { return v[1] % v[0] == 0; });
  space.rule("mr * nc <= 128");
  return space;
}

TEST(SearchSpace, EnumeratesInLexicographicOrder) {
  SearchSpace space;
  space.integer("a", {2, 1}).enumeration("b", {"x", "y"}).rule("a != 2 or b != 'y'");
  EXPECT_THAT(texts(space), ElementsAre("a=2,b=x", "a=1,b=x", "a=1,b=y"));
  EXPECT_EQ(space.count(), 3u);
  EXPECT_EQ(space.count(2), 2u);
}

TEST(SearchSpace, WithoutParametersHoldsTheEmptyConfigurationOnly) {
  SearchSpace space;
  EXPECT_TRUE(space.empty());
  EXPECT_EQ(space.count(), 1u);
  EXPECT_TRUE(space.contains(Configuration()));
  EXPECT_THAT(texts(space), ElementsAre(""));
  std::mt19937_64 random(1);
  EXPECT_EQ(space.sample(random)->text(), "");
  ASSERT_TRUE(space.parse(""));
  space.rule("1 == 2");
  EXPECT_EQ(space.count(), 0u);
  EXPECT_FALSE(space.sample(random));
  EXPECT_FALSE(space.contains(Configuration()));
}

TEST(SearchSpace, TextComesBackInAnyOrder) {
  const SearchSpace space = blocked();
  space.for_each([&](const Configuration& c) {
    EXPECT_EQ(space.parse(c.text()), c);
    return true;
  });
  EXPECT_EQ(space.parse("order=ikj,nc=16,pack=1,mr=8")->text(), "mr=8,nc=16,pack=1,order=ikj");
  for (const char* bad :
       {"mr=8", "mr=8,nc=16,pack=1,order=kij", "mr=8,nc=16,pack=2,order=ikj", "mr=6,nc=16,pack=1,order=ikj",
        "mr=8,nc=16,pack=1,order=ikj,", "mr=8,mr=8,nc=16,pack=1,order=ikj", "mr=8x,nc=16,pack=1,order=ikj",
        "mr=8,nc=16,pack=1,order=ikj,z=1", "mr", ",", "mr=8,nc=16,pack=,order=ikj"}) {
    EXPECT_FALSE(space.parse(bad)) << bad;
  }
}

TEST(SearchSpace, SaysWhyAConfigurationIsOutside) {
  const SearchSpace space = blocked();
  EXPECT_EQ(space.configuration({8, 16, 0, 1}).text(), "mr=8,nc=16,pack=0,order=ikj");
  EXPECT_THAT(message_of([&] { space.configuration({8, 16, 0}); }), HasSubstr("3 values were given for 4 parameters"));
  EXPECT_THAT(message_of([&] { space.configuration({5, 16, 0, 0}); }), HasSubstr("'mr' does not accept 5"));
  EXPECT_THAT(message_of([&] { space.configuration({8, 32, 0, 0}); }), HasSubstr("'mr * nc <= 128' does not hold"));
  EXPECT_THAT(message_of([&] { space.configuration({6, 16, 0, 0}); }), HasSubstr("between mr, nc does not hold"));
}

TEST(SearchSpace, RefusesBadParametersAndRules) {
  SearchSpace space;
  space.integer("a", {1, 2});
  EXPECT_THAT(message_of([&] { space.integer("a", {1}); }), HasSubstr("'a' was added twice"));
  EXPECT_THAT(message_of([&] { space.integer("", {1}); }), HasSubstr("name is empty"));
  EXPECT_THAT(message_of([&] { space.integer("b=", {1}); }), HasSubstr("leave out"));
  EXPECT_THAT(message_of([&] { space.integer("b", {}); }), HasSubstr("has 0 values"));
  EXPECT_THAT(message_of([&] { space.integer("b", {3, 3}); }), HasSubstr("value 3 twice"));
  EXPECT_THAT(message_of([&] { space.range("b", 2, 1); }), HasSubstr("is empty"));
  EXPECT_THAT(message_of([&] { space.range("b", INT64_MIN, INT64_MAX); }), HasSubstr("more than"));
  EXPECT_THAT(message_of([&] { space.power_of_two("b", 3, 8); }), HasSubstr("powers of two"));
  EXPECT_THAT(message_of([&] { space.enumeration("b", {"x", "x"}); }), HasSubstr("'x' twice"));
  EXPECT_THAT(message_of([&] { space.rule({"z"}, [](auto) { return true; }); }),
              HasSubstr("'z', which does not exist"));
  EXPECT_THAT(message_of([&] { space.rule({"a"}, nullptr); }), HasSubstr("no predicate"));
  EXPECT_EQ(space.parameters().size(), 1u);
}

TEST(SearchSpace, ACopyIsIndependent) {
  SearchSpace space = blocked();
  const std::uint64_t before = space.count();
  SearchSpace copy = space;
  copy.rule("pack == 1");
  EXPECT_EQ(copy.count() * 2, before);
  EXPECT_EQ(space.count(), before);
}

TEST(SearchSpace, NeighboursDifferInOneParameterNearestFirst) {
  SearchSpace space;
  space.range("x", 0, 9).integer("y", {1, 2, 4}).rule("x != 4");
  std::vector<std::string> found;
  for (const Configuration& c : space.neighbours(*space.parse("x=3,y=2"))) found.push_back(c.text());
  EXPECT_THAT(found, ElementsAre("x=2,y=2", "x=3,y=1", "x=3,y=4", "x=1,y=2", "x=5,y=2", "x=0,y=2", "x=6,y=2", "x=7,y=2",
                                 "x=8,y=2", "x=9,y=2"));
}

// 10^9 points, two rules that link neighbouring parameters.
SearchSpace large() {
  SearchSpace space;
  for (std::size_t i = 0; i < 9; ++i) space.range(numbered(i), 1, 10);
  space.rule("p0 + p1 <= 12").rule("p4 % p3 == 0");
  return space;
}

TEST(SearchSpace, CountsABillionPointsByTheirLinks) {
  // 64 of 100 pairs add up to at most 12, and 27 of 100 divide.
  EXPECT_EQ(large().count(), 64ull * 27ull * 100000ull);
  SearchSpace beyond;
  for (std::size_t i = 0; i < 30; ++i) beyond.range(numbered(i), 1, 10);
  EXPECT_EQ(beyond.count(), UINT64_MAX);
  std::mt19937_64 random(3);
  EXPECT_TRUE(beyond.contains(*beyond.sample(random)));
}

TEST(SearchSpace, IteratesALargeSpaceWithoutWalkingIntoDeadEnds) {
  SearchSpace space = large();
  space.range("q", 1, 1000).rule("p8 * q == 9990");  // only p8 = 10 has a completion
  std::uint64_t evaluated = 0;
  space.rule({"p8", "q"}, [&](auto) { return ++evaluated > 0; });
  std::vector<std::string> first;
  space.for_each([&](const Configuration& c) {
    first.push_back(c.text());
    return first.size() < 3;
  });
  ASSERT_EQ(first.size(), 3u);
  EXPECT_THAT(first[2], HasSubstr("p7=3,p8=10,q=999"));
  EXPECT_LT(evaluated, 100u);
}

// All parameters linked by one rule: no table of completions fits, so that counting and sampling take other ways.
SearchSpace entangled(std::int64_t sum) {
  SearchSpace space;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 7; ++i) {
    names.push_back(numbered(i));
    space.range(names.back(), 0, 9);
  }
  space.rule(names, [sum](std::span<const std::int64_t> v) { return std::accumulate(v.begin(), v.end(), 0ll) == sum; });
  return space;
}

TEST(SearchSpace, CountsAndSamplesWhereEveryParameterIsLinked) {
  const SearchSpace some = entangled(3);
  EXPECT_EQ(some.count(), 84u);  // compositions of 3 into 7 parts: C(9, 6)
  EXPECT_EQ(some.count(10), 10u);
  std::mt19937_64 random(5);
  EXPECT_TRUE(some.contains(*some.sample(random)));
  const SearchSpace none = entangled(64);
  EXPECT_EQ(none.count(), 0u);
  EXPECT_FALSE(none.sample(random));
}

TEST(SearchSpace, SamplesUniformly) {
  // The sampler that descends by counts, on a space whose subtrees differ much in size.
  SearchSpace space;
  space.range("a", 0, 3).range("b", 0, 9).rule("b <= a * a");
  std::mt19937_64 random(7);
  std::map<std::string, int> seen;
  const std::uint64_t points = space.count();
  ASSERT_EQ(points, 1u + 2u + 5u + 10u);
  const int draws = 18000;
  for (int i = 0; i < draws; ++i) ++seen[space.sample(random)->text()];
  ASSERT_EQ(seen.size(), points);
  double chi_square = 0;
  const double expected = static_cast<double>(draws) / static_cast<double>(points);
  for (const auto& [text, count] : seen) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 40.8);  // 99.9 % quantile for 17 degrees of freedom; the seed is fixed
}

TEST(SearchSpace, MayBeReadByManyThreads) {
  const SearchSpace space = large();
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> counts(4);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(i);
      counts[i] = space.contains(*space.sample(random)) ? space.count() : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t count : counts) EXPECT_EQ(count, 64ull * 27ull * 100000ull);
}

class RuleText : public ::testing::Test {
 protected:
  RuleText() { space.integer("a", {8}).integer("b", {-3}).integer("z", {0}).enumeration("e", {"x", "y"}); }

  bool holds(const std::string& text) {
    const RuleExpression rule = RuleExpression::parse(text, space.parameters());
    const std::map<std::size_t, std::int64_t> values = {{0, 8}, {1, -3}, {2, 0}, {3, 1}};
    std::vector<std::int64_t> arguments;
    for (const std::size_t parameter : rule.parameters()) arguments.push_back(values.at(parameter));
    return rule.holds(arguments);
  }
  std::string error(const std::string& text) {
    return message_of([&] { RuleExpression::parse(text, space.parameters()); });
  }

  SearchSpace space;
};

TEST_F(RuleText, ComputesLikeItReads) {
  for (const char* yes : {"a == 8",
                          "a*2+1 == 17",
                          "1+a*2 == 17",
                          "(1+a)*2 == 18",
                          "a-1-1 == 6",
                          "-a == -8",
                          "a % 3 == 2",
                          "b % 2 == 1",
                          "b // 2 == -2",
                          "b / 2 == -2",
                          "7 / 2 == 3",
                          "1 <= a <= 8",
                          "1 < a != 7",
                          "64<=a*a<=64 and b<0",
                          "not a == 7",
                          "!(a == 7)",
                          "a == 7 or b == -3",
                          "a == 8 && !z",
                          "e == 'y'",
                          "'x' != e",
                          "e == \"y\"",
                          "true",
                          "a",
                          "not z",
                          "a == 7 or not b > 0 and e == 'y'",
                          "a%(4*2)==0",
                          "z == 0 or a % z == 0",
                          "+a >= 8"}) {
    EXPECT_TRUE(holds(yes)) << yes;
  }
  for (const char* no :
       {"a == 7", "1 <= a <= 7", "8 > a > 9", "not a", "z", "e == 'x'", "a == 8 and b == 3", "false", "a*2+1 == 18",
        "10 < a or b"
        "== 0"}) {
    EXPECT_FALSE(holds(no)) << no;
  }
}

TEST_F(RuleText, WhatHasNoValueIsNotFulfilled) {
  for (const char* undefined :
       {"a % z == 0", "a / z == 0", "not a % z == 0", "a % z == 0 or a == 8", "9223372036854775807 + a > 0",
        "9223372036854775807 * a != 0", "(-9223372036854775807 - 1) / -1 != 0"}) {
    EXPECT_FALSE(holds(undefined)) << undefined;
  }
}

TEST_F(RuleText, ErrorsNameTheColumn) {
  EXPECT_THAT(error("a == q"), HasSubstr("column 6: there is no parameter 'q'; the parameters are a, b, z, e"));
  EXPECT_THAT(error("a =="), HasSubstr("column 5: the rule ends where a value is missing"));
  EXPECT_THAT(error("(a == 1"), HasSubstr("column 8: a ')' is missing"));
  EXPECT_THAT(error("a == 1)"), HasSubstr("column 7: ')' does not belong here"));
  EXPECT_THAT(error("a = 1"), HasSubstr("column 3: '=' does not belong here"));
  EXPECT_THAT(error("a == 99999999999999999999"), HasSubstr("column 6: '99999999999999999999' is not a 64-bit"));
  EXPECT_THAT(error("e == 'w'"), HasSubstr("column 6: parameter 'e' has no value 'w'; it accepts x, y"));
  EXPECT_THAT(error("a == 'x'"), HasSubstr("column 6: a label must be compared with an enumeration"));
  EXPECT_THAT(error("'x'"), HasSubstr("column 1: a label"));
  EXPECT_THAT(error("e == 'y"), HasSubstr("column 6: a quote is not closed"));
  EXPECT_THAT(error(""), HasSubstr("column 1"));
  EXPECT_THAT(error("a @ 1"), HasSubstr("column 3: '@'"));
  EXPECT_THAT(error(std::string(300, '(') + "a" + std::string(300, ')')), HasSubstr("nested too deeply"));
  EXPECT_THAT(error(std::string(20000, ' ')), HasSubstr("at most 16384"));
}

RC_GTEST_PROP(SearchSpaceProperty, EnumerationIsFilteredBruteForce, ()) {
  const SmallSpace small = make_small_space();
  const auto expected = small.brute_force();
  std::vector<std::vector<std::int64_t>> found;
  small.space.for_each([&](const Configuration& c) {
    found.emplace_back(c.values().begin(), c.values().end());
    return true;
  });
  RC_ASSERT(found == expected);
  RC_ASSERT(small.space.count() == expected.size());
  RC_CLASSIFY(expected.empty());
}

RC_GTEST_PROP(SearchSpaceProperty, SamplesAndNeighboursAreValid, (std::uint64_t seed)) {
  const SmallSpace small = make_small_space();
  const auto expected = small.brute_force();
  std::mt19937_64 random(seed);
  const auto sample = small.space.sample(random);
  RC_ASSERT(sample.has_value() == !expected.empty());
  if (!sample) return;
  RC_ASSERT(small.space.contains(*sample));
  const auto distance = [&](const std::vector<std::int64_t>& point) {
    std::size_t different = 0;
    for (std::size_t i = 0; i < point.size(); ++i) different += point[i] != sample->values()[i] ? 1 : 0;
    return different;
  };
  std::set<std::vector<std::int64_t>> neighbours;
  for (const auto& point : expected) {
    if (distance(point) == 1) neighbours.insert(point);
  }
  std::set<std::vector<std::int64_t>> found;
  for (const Configuration& c : small.space.neighbours(*sample)) {
    RC_ASSERT(found.emplace(c.values().begin(), c.values().end()).second);
  }
  RC_ASSERT(found == neighbours);
}

}  // namespace
}  // namespace hone
