#include "workers/order_statistics.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace hone::workers {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> samples(static_cast<std::size_t>(n));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

// 1 - 2 P(B < lower rank) for B binomial with n and 1/2.
TEST(MedianInterval, HasTheRanksThatTheBinomialDistributionGives) {
  struct Row {
    int n;
    double confidence;
    double low;
    double exact;
  };
  for (const Row& row : {Row{6, 0.95, 1, 0.96875}, Row{9, 0.95, 2, 0.9609375}, Row{10, 0.95, 2, 0.978515625},
                         Row{15, 0.95, 4, 0.96484375}, Row{20, 0.95, 6, 0.9586105}, Row{25, 0.95, 8, 0.9567147},
                         Row{8, 0.99, 1, 0.9921875}, Row{20, 0.99, 4, 0.9974232}, Row{50, 0.95, 18, 0.9671602}}) {
    const MedianInterval interval = median_interval(one_to(row.n), row.confidence);
    EXPECT_EQ(interval.low, row.low) << row.n;
    EXPECT_EQ(interval.high, row.n + 1 - row.low) << row.n;
    EXPECT_NEAR(interval.confidence, row.exact, 1e-6) << row.n;
    EXPECT_EQ(interval.median, (row.n + 1) / 2.0);
  }
}

TEST(MedianInterval, SaysWhatConfidenceFewSamplesReach) {
  EXPECT_EQ(median_interval({}, 0.95).confidence, 0);
  EXPECT_EQ(median_interval(one_to(1), 0.95).confidence, 0);
  EXPECT_EQ(median_interval(one_to(2), 0.95).confidence, 0.5);
  EXPECT_EQ(median_interval(one_to(5), 0.95).confidence, 0.9375);
  EXPECT_EQ(median_interval(one_to(5), 0.95).low, 1);
  EXPECT_EQ(median_interval(one_to(5), 0.95).high, 5);
}

TEST(MedianInterval, IgnoresTheOrderOfSamples) {
  std::vector<double> samples = one_to(31);
  const MedianInterval sorted = median_interval(samples, 0.95);
  std::shuffle(samples.begin(), samples.end(), std::mt19937_64(1));
  EXPECT_EQ(median_interval(samples, 0.95).low, sorted.low);
  EXPECT_EQ(median_interval(samples, 0.95).median, 16);
}

TEST(MedianInterval, CoversTheMedianOfASkewedDistributionAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0.0, 1.0);  // median 1
  for (const int n : {7, 12, 31}) {
    int covered = 0;
    const int trials = 4000;
    double confidence = 0;
    for (int i = 0; i < trials; ++i) {
      std::vector<double> samples(static_cast<std::size_t>(n));
      for (double& sample : samples) sample = skewed(random);
      const MedianInterval interval = median_interval(samples, 0.95);
      covered += interval.low <= 1 && 1 <= interval.high;
      confidence = interval.confidence;
    }
    EXPECT_NEAR(covered / static_cast<double>(trials), confidence, 0.015) << n;
  }
}

TEST(MedianInterval, OfManySamplesDoesNotUnderflow) {
  EXPECT_EQ(median_interval(one_to(1000), 0.95).low, 469);
  EXPECT_EQ(median_interval(one_to(1000), 0.95).high, 532);
  EXPECT_EQ(median_interval(one_to(10000), 0.95).low, 4902);  // 5000 - 1.96 * 50, rounded down to a rank
}

TEST(SamplesFor, IsTheLeastNumberThatReachesTheConfidence) {
  for (const double confidence : {0.5, 0.9, 0.95, 0.99, 0.995, 0.999}) {
    const std::size_t n = samples_for(confidence);
    EXPECT_GE(median_interval(one_to(static_cast<int>(n)), confidence).confidence, confidence);
    EXPECT_LT(median_interval(one_to(static_cast<int>(n) - 1), confidence).confidence, confidence);
  }
}

TEST(SideOf, DecidesByTheWholeIntervalOrByANarrowOnesMedian) {
  EXPECT_EQ(side_of(1.15, 1.0, 0.9, 1.1, 0), Side::below);
  EXPECT_EQ(side_of(1.15, 1.3, 1.2, 1.4, 0), Side::above);
  EXPECT_EQ(side_of(1.15, 1.1, 1.0, 1.2, 0.04), Side::unclear);
  EXPECT_EQ(side_of(1.15, 1.14, 1.13, 1.16, 0.04), Side::below);
  EXPECT_EQ(side_of(1.15, 1.155, 1.14, 1.16, 0.04), Side::above);
  EXPECT_EQ(side_of(1.15, 1, 0, std::numeric_limits<double>::infinity(), 0.04), Side::unclear);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(side_of(1.15, nan, nan, nan, 0.04), Side::unclear);
}

}  // namespace
}  // namespace hone::workers
