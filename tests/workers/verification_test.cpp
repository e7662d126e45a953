// What a verification job brings back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_worker.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::candidate;
using test::Fault;
using test::scripted_operation;
using test::scripted_solver;
using test::ScriptedWorker;
using test::subject;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> solvers_of(const std::vector<Prepared>& prepared) {
  std::vector<std::string> names;
  for (const Prepared& p : prepared) names.push_back(p.candidate.solver);
  return names;
}

TEST(Verification, TimesTheClaimedCandidateAndComparesItsRivals) {
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 200us}), scripted_solver("b", {.time = 190us}),
                          scripted_solver("c", {.time = 150us})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{.subject = subject(operation),
                                                .claimed = candidate("a"),
                                                .reported = 200us,
                                                .rivals = {candidate("b"), candidate("c")}});
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(outcome.stop, StopReason::none);
  ASSERT_THAT(outcome.trials, SizeIs(3));
  EXPECT_EQ(outcome.trials[0].candidate, candidate("a"));
  EXPECT_EQ(outcome.trials[0].timing.median, 200us);
  EXPECT_GE(outcome.trials[0].timing.samples, 9u);
  EXPECT_EQ(outcome.evaluations, 3u);
  ASSERT_THAT(outcome.comparisons, SizeIs(2));
  EXPECT_EQ(outcome.comparisons[0].challenger, candidate("c"));
  EXPECT_DOUBLE_EQ(outcome.comparisons[0].ratio, 0.75);
  EXPECT_EQ(outcome.comparisons[1].challenger, candidate("b"));
  EXPECT_THAT(solvers_of(outcome.prepared), ElementsAre("a", "b", "c"));
}

TEST(Verification, DropsSlowRivalsAfterOneProbe) {
  const auto slow = scripted_solver("slow", {.time = 900us});
  const auto operation = scripted_operation({scripted_solver("a", {.time = 200us}), slow});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{
      .subject = subject(operation), .claimed = candidate("a"), .reported = 200us, .rivals = {candidate("slow")}});
  ASSERT_THAT(outcome.trials, SizeIs(2));
  EXPECT_TRUE(outcome.trials[1].screened);
  EXPECT_EQ(outcome.trials[1].timing.samples, 1u);
  EXPECT_THAT(outcome.comparisons, IsEmpty());
  EXPECT_THAT(solvers_of(outcome.prepared), ElementsAre("a"));
}

TEST(Verification, SamplesLongerNearAThresholdOnly) {
  const auto samples = [](std::chrono::microseconds reported) {
    const auto operation = scripted_operation({scripted_solver("a", {.time = 200us})});
    ScriptedWorker fixture({.jitter = 0.03});
    return fixture.run(VerifyJob{.subject = subject(operation), .claimed = candidate("a"), .reported = reported})
        .trials.at(0)
        .timing.samples;
  };
  EXPECT_EQ(samples(200us), 9u);
  EXPECT_EQ(samples(100us), 9u);
  EXPECT_GT(samples(174us), 9u);
}

TEST(Verification, WithoutAReportedTimeTheFirstLookIsEnough) {
  const auto operation = scripted_operation({scripted_solver("a", {.time = 200us})});
  ScriptedWorker fixture({.jitter = 0.05});
  const Outcome outcome = fixture.run(VerifyJob{.subject = subject(operation), .claimed = candidate("a")});
  EXPECT_EQ(outcome.trials.at(0).timing.samples, 9u);
}

TEST(Verification, TimesTheRivalsWhereTheClaimedDoesNotWork) {
  for (const Fault fault :
       {Fault::throws_in_prepare, Fault::wrong_result, Fault::launch_fails, Fault::launch_fails_later}) {
    const auto operation =
        scripted_operation({scripted_solver("a", {.fault = fault}), scripted_solver("b", {.time = 300us}),
                            scripted_solver("c", {.time = 200us})});
    ScriptedWorker fixture;
    const Outcome outcome = fixture.run(VerifyJob{.subject = subject(operation),
                                                  .claimed = candidate("a"),
                                                  .reported = 200us,
                                                  .rivals = {candidate("b"), candidate("c")}});
    EXPECT_FALSE(outcome.error);
    ASSERT_THAT(outcome.trials, SizeIs(3));
    EXPECT_NE(outcome.trials[0].status, TrialStatus::ok);
    EXPECT_FALSE(outcome.trials[0].timing.known());
    EXPECT_EQ(outcome.trials[1].timing.median, 300us);
    EXPECT_EQ(outcome.trials[2].timing.median, 200us);
    EXPECT_THAT(outcome.comparisons, IsEmpty());
    EXPECT_THAT(solvers_of(outcome.prepared), ElementsAre("b", "c"));
  }
}

TEST(Verification, ARivalThatFailsLaterIsOut) {
  const auto operation =
      scripted_operation({scripted_solver("a"), scripted_solver("b", {.fault = Fault::launch_fails_later})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{
      .subject = subject(operation), .claimed = candidate("a"), .reported = 200us, .rivals = {candidate("b")}});
  EXPECT_EQ(outcome.trials.at(0).status, TrialStatus::ok);
  EXPECT_EQ(outcome.trials.at(1).status, TrialStatus::launch_failed);
  EXPECT_THAT(outcome.comparisons, IsEmpty());
  EXPECT_THAT(solvers_of(outcome.prepared), ElementsAre("a"));
}

TEST(Verification, NothingWorks) {
  const auto operation = scripted_operation({scripted_solver("a", {.fault = Fault::wrong_result})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{
      .subject = subject(operation), .claimed = candidate("a"), .reported = 200us, .rivals = {candidate("gone")}});
  EXPECT_FALSE(outcome.error);
  EXPECT_THAT(outcome.trials, SizeIs(2));
  EXPECT_THAT(outcome.prepared, IsEmpty());
}

TEST(Verification, RivalsNamedTwiceAreEvaluatedOnce) {
  const auto operation = scripted_operation({scripted_solver("a"), scripted_solver("b")});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{.subject = subject(operation),
                                                .claimed = candidate("a"),
                                                .rivals = {candidate("b"), candidate("a"), candidate("b")}});
  EXPECT_THAT(outcome.trials, SizeIs(2));
  EXPECT_THAT(outcome.comparisons, SizeIs(1));
}

TEST(Verification, EndsWithItsWallTime) {
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 10ms}), scripted_solver("b", {.time = 10ms})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{.subject = subject(operation),
                                                .claimed = candidate("a"),
                                                .reported = 10ms,
                                                .rivals = {candidate("b")},
                                                .wall_time = 150ms});
  EXPECT_EQ(outcome.stop, StopReason::wall_time);
  EXPECT_GE(outcome.busy, 150ms);
  EXPECT_LT(outcome.busy, 200ms);
}

}  // namespace
}  // namespace hone::workers
