#include "tools/find_db_replay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace hone::tools {
namespace {

FindDbText read(const std::string& text) {
  std::istringstream input(text);
  return read_find_db(input);
}

// Keys of one class: direction F, type FP32, filter 3x3.
std::string key(int number) { return fmt::format("{}-8-8-3x3-16-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F", number); }

TEST(BareRule, AcceptsWithinTheToleranceAndTunesBeyondIt) {
  const FindDbText recorded = read("a=S:1,0,x;T:2,0,x\nb=S:1,0,x;T:2,0,x\n");
  const FindDbText measured = read("a=S:1.1,0,x;T:0.5,0,x\nb=S:1.2,0,x;T:0.6,0,x;U:0.4,0,x\n");
  const ReplayScore score = replay_bare_rule(recorded, measured, {});
  EXPECT_EQ(score.keys, 2u);
  EXPECT_EQ(score.tuned_share, 0.5);
  EXPECT_EQ(score.evaluations_per_key, 2);  // 1, and 3
  EXPECT_EQ(score.slower_15, 0.5);          // a keeps S, which takes 2.2 times the best
  EXPECT_NEAR(score.geomean_regret, std::sqrt(2.2), 1e-12);
}

TEST(BareRule, TunesWhenTheRecordedBestCannotRun) {
  const ReplayScore score = replay_bare_rule(read("a=S:1,0,x\n"), read("a=T:1,0,x;U:2,0,x\n"), {});
  EXPECT_EQ(score.tuned_share, 1);
  EXPECT_EQ(score.evaluations_per_key, 3);
  EXPECT_EQ(score.geomean_regret, 1);
}

TEST(Replay, UsesOnlyCommonKeysWithATimeForEveryEntry) {
  const FindDbText recorded = read("a=S:1,0,x\nb=S:0,0,x\nc=S:1,0,x\nd=S:1,0,x\n");
  const FindDbText measured = read("a=S:1,0,x\nb=S:1,0,x\nc=S:0,0,x\ne=S:1,0,x\n");
  EXPECT_EQ(replay_policy(recorded, measured, {}).keys, 1u);
  EXPECT_EQ(replay_bare_rule(recorded, measured, {}).keys, 1u);
}

TEST(Policy, ReRanksInsteadOfTuning) {
  const ReplayScore score =
      replay_policy(read(key(1) + "=S:1,0,x;T:1.5,0,x\n"), read(key(1) + "=S:3,0,x;T:1.5,0,x\n"), {});
  EXPECT_EQ(score.geomean_regret, 1);
  EXPECT_EQ(score.evaluations_per_key, 2);
}

// `count` keys with the same entries.
FindDbText repeated(int count, const std::string& entries) {
  std::string text;
  for (int i = 0; i < count; ++i) text += key(i) + '=' + entries + '\n';
  return read(text);
}

// A few keys are tuned to learn what that gains; here it is nothing.
TEST(Policy, LeavesHopelessRivalsAloneUnlessNothingElseWorks) {
  const FindDbText recorded = repeated(400, "S:1,0,x;T:1.2,0,x;U:9,0,x");
  EXPECT_NEAR(replay_policy(recorded, recorded, {}).evaluations_per_key, 2, 0.06);
  const ReplayScore score = replay_policy(recorded, repeated(400, "U:9,0,x"), {});
  EXPECT_EQ(score.evaluations_per_key, 3);
  EXPECT_EQ(score.geomean_regret, 1);
}

TEST(Policy, EvaluatesNoMoreRecordedCandidatesThanAllowed) {
  const FindDbText text = repeated(400, "S:1,0,x;T:1.1,0,x;U:1.2,0,x;V:1.3,0,x");
  for (const std::size_t candidates : {1, 2, 3, 4}) {
    EXPECT_NEAR(replay_policy(text, text, {.candidates = candidates}).evaluations_per_key,
                static_cast<double>(candidates), 0.16);
  }
}

TEST(Policy, LearnsWhichSolversAreFasterHereThanRecorded) {
  // T is recorded five times as slow as S and is twice as fast here: seen once without a choice, it is tried after
  // that.
  std::string recorded = key(0) + "=T:5,0,x\n";
  std::string measured = key(0) + "=T:0.5,0,x\n";
  for (int i = 1; i <= 200; ++i) {
    recorded += key(i) + "=S:1,0,x;T:5,0,x\n";
    measured += key(i) + "=S:1,0,x;T:0.5,0,x\n";
  }
  const ReplayScore score = replay_policy(read(recorded), read(measured), {});
  EXPECT_LT(score.slower_15, 0.05);
  EXPECT_LT(score.tuned_share, 0.1);
}

TEST(Policy, TriesSolversThatWonForSimilarProblems) {
  // U is named by half of the records and wins where it can; the other half does not name it.
  std::string recorded;
  std::string measured;
  for (int i = 0; i < 400; ++i) {
    recorded += key(i) + (i % 2 == 0 ? "=S:1,0,x;U:0.9,0,x\n" : "=S:1,0,x\n");
    measured += key(i) + "=S:1,0,x;U:0.5,0,x\n";
  }
  const ReplayScore score = replay_policy(read(recorded), read(measured), {});
  EXPECT_LT(score.slower_15, 0.02);
  EXPECT_LE(score.tuned_share, 0.06);
}

TEST(Policy, DoesNotTuneForEverWhereNothingIsGained) {
  // Everything is a third slower than recorded, and nothing can be done about it.
  std::string recorded;
  std::string measured;
  for (int i = 0; i < 400; ++i) {
    recorded += key(i) + "=S:1,0,x;T:2,0,x\n";
    measured += key(i) + "=S:1.33,0,x;T:2.66,0,x\n";
  }
  const FindDbText a = read(recorded);
  const FindDbText b = read(measured);
  EXPECT_LE(replay_policy(a, b, {}).tuned_share, 0.05);
  EXPECT_EQ(replay_bare_rule(a, b, {}).tuned_share, 1);
}

TEST(Policy, TunesNoMoreThanAllowedWhereOnlyTuningGains) {
  // Each problem is won by another solver that no record names.
  std::string recorded;
  std::string measured;
  for (int i = 0; i < 400; ++i) {
    recorded += key(i) + "=S:1,0,x\n";
    measured += key(i) + "=S:2,0,x;W" + std::to_string(i) + ":0.5,0,x\n";
  }
  const FindDbText a = read(recorded);
  const FindDbText b = read(measured);
  EXPECT_NEAR(replay_policy(a, b, {}).tuned_share, 0.05, 0.01);
  EXPECT_NEAR(replay_policy(a, b, {.most_tuned = 0.5}).tuned_share, 0.5, 0.05);
  EXPECT_EQ(replay_policy(a, b, {.most_tuned = 1}).slower_5, 0);
}

// The two files of one device family that issue 4 names, in both directions.
TEST(Policy, KeepsItsBoundsOnRecordedPairs) {
  const std::string folder = std::string(HONE_SOURCE_DIR) + "/../shared/data/miopen/";
  std::ifstream small(folder + "gfx90a68.HIP.fdb.paired-sample.txt");
  std::ifstream large(folder + "gfx90a6e.HIP.fdb.paired-sample.txt");
  if (!small || !large) GTEST_SKIP() << "needs " << folder << "gfx90a6*.HIP.fdb.paired-sample.txt";
  const FindDbText units_104 = read_find_db(small);
  const FindDbText units_110 = read_find_db(large);
  const auto check = [](const FindDbText& recorded, const FindDbText& measured, double slower_15) {
    const ReplayScore score = replay_policy(recorded, measured, {});
    const ReplayScore bare = replay_bare_rule(recorded, measured, {});
    EXPECT_EQ(score.keys, 2000u);
    EXPECT_LE(score.slower_15, slower_15);
    EXPECT_LE(score.evaluations_per_key, 3);
    EXPECT_LE(score.tuned_share, 0.05);
    EXPECT_LT(score.slower_15, bare.slower_15);
    EXPECT_LT(score.tuned_share, bare.tuned_share);
    EXPECT_LT(score.geomean_regret, bare.geomean_regret);
  };
  check(units_104, units_110, 0.013);
  check(units_110, units_104, 0.006);
}

}  // namespace
}  // namespace hone::tools
