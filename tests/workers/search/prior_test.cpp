#include "workers/search/prior.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hone::workers {
namespace {

using ::testing::ElementsAre;

class PriorTest : public ::testing::Test {
 protected:
  static SearchSpace square() {
    SearchSpace space;
    space.range("a", 0, 9).range("b", 0, 9);
    return space;
  }

  Configuration at(std::int64_t a, std::int64_t b) const { return space_.configuration({a, b}); }
  PriorTrial trial(std::int64_t a, std::int64_t b, std::optional<double> time) const {
    return {at(a, b), time ? std::optional(Strategy::Time(*time)) : std::nullopt};
  }
  PointId id(std::int64_t a, std::int64_t b) { return *points_.find(at(a, b)); }
  double distance(PointId one, PointId other) const {
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      sum += std::abs(double(points_.places(one)[i]) - double(points_.places(other)[i])) / 9;
    }
    return sum;
  }
  Prior prior(const std::vector<PriorTrial>& trials) {
    return Prior(trials, points_, [this](PointId one, PointId other) { return distance(one, other); });
  }

  SearchSpace space_ = square();
  Points points_{space_};
};

TEST_F(PriorTest, ExpectsOfATriedPointWhatWasMeasured) {
  const Prior known = prior({trial(1, 1, 200), trial(2, 2, 100), trial(3, 3, 800)});
  EXPECT_NEAR(known.at(id(2, 2)), 0, 1e-12);
  EXPECT_NEAR(known.at(id(1, 1)), std::log(2), 1e-12);
  EXPECT_NEAR(known.at(id(3, 3)), std::log(8), 1e-12);
  EXPECT_THAT(known.ranking(), ElementsAre(id(2, 2), id(1, 1), id(3, 3)));
}

TEST_F(PriorTest, ExpectsOfOthersWhatIsNear) {
  const Prior known = prior({trial(0, 0, 100), trial(9, 9, 800)});
  const double near_fast = known.at(id(1, 0)), between = known.at(id(4, 5)), near_slow = known.at(id(9, 8));
  EXPECT_GT(near_fast, 0);
  EXPECT_LT(near_fast, between);
  EXPECT_NEAR(between, std::log(8) / 2, 0.1);
  EXPECT_LT(between, near_slow);
  EXPECT_LT(near_slow, std::log(8));
}

TEST_F(PriorTest, CountsFailuresAsTheSlowest) {
  const Prior known = prior({trial(0, 0, 100), trial(5, 5, {}), trial(7, 7, 300),
                             trial(8, 8, std::numeric_limits<double>::quiet_NaN()), trial(8, 9, -1)});
  EXPECT_NEAR(known.at(id(5, 5)), std::log(3), 1e-12);
  EXPECT_NEAR(known.at(id(8, 8)), std::log(3), 1e-12);
  EXPECT_NEAR(known.at(id(8, 9)), std::log(3), 1e-12);
  EXPECT_EQ(known.ranking()[1], id(7, 7));
}

TEST_F(PriorTest, IsEmptyWhereNothingRan) {
  EXPECT_TRUE(prior({}).empty());
  EXPECT_TRUE(prior({trial(0, 0, {}), trial(1, 1, {})}).empty());
  EXPECT_EQ(prior({}).at(id(3, 3)), 0);
}

TEST_F(PriorTest, LeavesOutWhatIsOutsideTheSpace) {
  SearchSpace wider;
  wider.range("a", 0, 20).range("b", 0, 9);
  const Prior known = prior({trial(0, 0, 100), {wider.configuration({20, 0}), Strategy::Time(1)}});
  EXPECT_THAT(known.ranking(), ElementsAre(id(0, 0)));
}

// The surrogate strategy on 10,000 points whose fastest are in a corner.
class WarmSearch : public ::testing::Test {
 protected:
  WarmSearch() { space_.range("a", 0, 99).range("b", 0, 99); }

  static double time(const Configuration& c) {
    const double a = static_cast<double>(c.values()[0]) - 90, b = static_cast<double>(c.values()[1]) - 80;
    return 100 + a * a + b * b;
  }
  std::vector<PriorTrial> trials(double (*time_there)(const Configuration&)) const {
    std::vector<PriorTrial> result;
    for (std::int64_t a = 2; a < 100; a += 7) {
      for (std::int64_t b = 3; b < 100; b += 7) {
        const Configuration c = space_.configuration({a, b});
        result.push_back({c, Strategy::Time(time_there(c))});
      }
    }
    return result;
  }
  // The best time after so many evaluations, at worst over some seeds.
  double best(const std::vector<PriorTrial>& prior, int evaluations) const {
    double worst = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto strategy = make_strategy("surrogate", space_, {.seed = seed, .prior = prior});
      double least = HUGE_VAL;
      for (int i = 0; i < evaluations; ++i) {
        const Configuration next = strategy->suggest().value();
        least = std::min(least, time(next));
        strategy->observe(next, Strategy::Time(time(next)));
      }
      worst = std::max(worst, least);
    }
    return worst;
  }

  SearchSpace space_;
};

TEST_F(WarmSearch, GoesWhereItWasFastElsewhere) {
  // Three times as slow there, which says nothing about here.
  const auto alike = trials([](const Configuration& c) { return 3 * time(c); });
  EXPECT_LT(best(alike, 2), 110);
  EXPECT_GT(best({}, 2), 500);
}

TEST_F(WarmSearch, FindsTheBestInSpiteOfAHarmfulStart) {
  const auto opposite = trials([](const Configuration& c) { return 1e6 / time(c); });
  EXPECT_LT(best(opposite, 60), 110);
}

}  // namespace
}  // namespace hone::workers
