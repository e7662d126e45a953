// The bounds of verdicts under simulated noise; tests/bench/verdict_noise_bench prints the figures of many more seeds.
#include <gtest/gtest.h>

#include "tests/bench/verdict_noise.hpp"

namespace hone::test {
namespace {

class VerdictsUnderNoise : public testing::TestWithParam<std::size_t> {};

TEST_P(VerdictsUnderNoise, RarelyErr) {
  const NoiseScore score = score_verdicts(all_noises[GetParam()], 10, 40);
  EXPECT_EQ(score.verifications, 400u);
  EXPECT_LE(score.false_retunes, 4u);
  EXPECT_LE(score.missed, 4u);
  EXPECT_LE(score.undecided, 16u);
  EXPECT_EQ(score.wrong_upgrades, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, VerdictsUnderNoise, testing::Range<std::size_t>(0, all_noises.size()),
                         [](const auto& kind) { return std::string(noise_names[kind.param]); });

}  // namespace
}  // namespace hone::test
