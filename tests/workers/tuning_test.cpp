// What a tuning job brings back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/scripted_worker.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::candidate;
using test::Fault;
using test::Script;
using test::scripted_operation;
using test::scripted_solver;
using test::ScriptedWorker;
using test::subject;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// 64 points; the best is tile=8,unroll=8 at `best` of the time of the worst.
Script spacious(std::chrono::microseconds worst, double best) {
  SearchSpace space;
  space.range("tile", 1, 8).range("unroll", 1, 8);
  return {.time = worst, .space = space, .defaults = {1, 1}, .configured = [best](const Configuration& c) {
            return 1 - (1 - best) * static_cast<double>(c.at("tile") * c.at("unroll")) / 64;
          }};
}

std::vector<std::string> names(const std::vector<Trial>& trials) {
  std::vector<std::string> result;
  for (const Trial& trial : trials) result.push_back(to_string(trial.candidate));
  return result;
}

TEST(Tuning, EvaluatesTheIncumbentThenTheFirstOnesThenEveryDefault) {
  const auto operation = scripted_operation({scripted_solver("a"), scripted_solver("b", spacious(300us, 0.5)),
                                             scripted_solver("c"), scripted_solver("d", {.refusal = "not here"})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation),
                                              .incumbent = candidate("c"),
                                              .first = {candidate("b", "tile=2,unroll=2"), candidate("c")},
                                              .search_parameters = false});
  EXPECT_THAT(names(outcome.trials), ElementsAre("c", "b{tile=2,unroll=2}", "a", "b{tile=1,unroll=1}"));
  EXPECT_EQ(outcome.stop, StopReason::exhausted);
}

TEST(Tuning, FindsAndConfirmsTheBestSolver) {
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 200us}), scripted_solver("b", {.time = 100us}),
                          scripted_solver("c", {.time = 140us}), scripted_solver("d", {.time = 4ms})});
  ScriptedWorker fixture({.jitter = 0.02});
  const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a")});
  ASSERT_FALSE(outcome.comparisons.empty());
  EXPECT_EQ(outcome.comparisons[0].challenger, candidate("b"));
  EXPECT_NEAR(outcome.comparisons[0].ratio, 0.5, 0.02);
  EXPECT_LT(outcome.comparisons[0].high, 0.6);
  ASSERT_FALSE(outcome.prepared.empty());
  EXPECT_EQ(outcome.prepared[0].candidate, candidate("a"));
  EXPECT_TRUE(outcome.trials[3].screened);
}

TEST(Tuning, SearchesAWholeSmallSpaceWithoutRepeating) {
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 150us}), scripted_solver("b", spacious(200us, 0.5))});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a")});
  const auto evaluated = names(outcome.trials);
  EXPECT_THAT(evaluated, SizeIs(1 + 64));
  EXPECT_EQ(std::set<std::string>(evaluated.begin(), evaluated.end()).size(), evaluated.size());
  EXPECT_EQ(outcome.stop, StopReason::exhausted);
  EXPECT_EQ(outcome.comparisons.at(0).challenger, candidate("b", "tile=8,unroll=8"));
  EXPECT_NEAR(outcome.comparisons.at(0).ratio, 2.0 / 3, 1e-3);
}

TEST(Tuning, ASolverHopelesslyBehindDoesNotEatTheBudget) {
  const auto operation = scripted_operation(
      {scripted_solver("slow", spacious(3000us, 0.9)), scripted_solver("fast", spacious(300us, 0.5))});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{
      .subject = subject(operation), .incumbent = candidate("slow", "tile=1,unroll=1"), .budget = {.evaluations = 42}});
  std::map<std::string, int> points;
  for (const Trial& trial : outcome.trials) ++points[trial.candidate.solver];
  EXPECT_EQ(outcome.stop, StopReason::evaluations);
  EXPECT_GE(points["fast"], 36);
  EXPECT_GE(points["slow"], 3);
}

TEST(Tuning, SolversOfEqualSpeedShareTheBudget) {
  const auto operation =
      scripted_operation({scripted_solver("a", spacious(300us, 0.9)), scripted_solver("b", spacious(300us, 0.9))});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{
      .subject = subject(operation), .incumbent = candidate("a", "tile=1,unroll=1"), .budget = {.evaluations = 42}});
  std::map<std::string, int> points;
  for (const Trial& trial : outcome.trials) ++points[trial.candidate.solver];
  EXPECT_NEAR(points["a"], 21, 4);
}

TEST(Tuning, StopsWhenItsPatienceIsUsedUp) {
  // No point is better than the default by more than the tie margin.
  const auto operation = scripted_operation({scripted_solver("a", spacious(200us, 0.99))});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{
      .subject = subject(operation), .incumbent = candidate("a", "tile=1,unroll=1"), .budget = {.patience = 10}});
  EXPECT_EQ(outcome.stop, StopReason::patience);
  EXPECT_EQ(outcome.evaluations, 11u);
}

TEST(Tuning, StopsWithItsWallTimeAndLeavesSomeForTheConfirmation) {
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 2ms}), scripted_solver("b", spacious(2000us, 0.5))});
  ScriptedWorker fixture;
  const Outcome outcome =
      fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a"), .budget = {.wall_time = 400ms}});
  EXPECT_EQ(outcome.stop, StopReason::wall_time);
  EXPECT_GE(outcome.busy, 320ms);
  EXPECT_LT(outcome.busy, 450ms);
  ASSERT_FALSE(outcome.comparisons.empty());
  EXPECT_LT(outcome.comparisons[0].high, 1);
}

// Nothing but the incumbent's own evaluation fits into the time, or not even that.
TEST(Tuning, ATinyBoxStillBringsTheIncumbentBack) {
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 2ms}), scripted_solver("b", {.time = 1ms})});
  for (const std::chrono::nanoseconds box : {1ns, 1000000ns, 20000000ns, 60000000ns}) {
    ScriptedWorker fixture;
    const Outcome outcome =
        fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a"), .budget = {.wall_time = box}});
    ASSERT_FALSE(outcome.trials.empty());
    EXPECT_TRUE(outcome.trials[0].timing.known()) << box.count();
    ASSERT_FALSE(outcome.prepared.empty()) << box.count();
    EXPECT_EQ(outcome.prepared[0].candidate, candidate("a"));
  }
}

TEST(Tuning, FailuresAreTrialsAndTheNextOneIsTaken) {
  const auto operation = scripted_operation(
      {scripted_solver("a", {.time = 200us}), scripted_solver("wrong", {.time = 1us, .fault = Fault::wrong_result}),
       scripted_solver("throws", {.fault = Fault::throws_in_prepare}),
       scripted_solver("odd", {.fault = Fault::throws_in_applicable}),
       scripted_solver("dies", {.time = 10us, .fault = Fault::launch_fails_later}),
       scripted_solver("b", {.time = 100us})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a")});
  ASSERT_THAT(outcome.trials, SizeIs(6));
  EXPECT_EQ(outcome.trials[1].status, TrialStatus::wrong_result);
  EXPECT_EQ(outcome.trials[2].status, TrialStatus::prepare_failed);
  EXPECT_EQ(outcome.trials[3].status, TrialStatus::not_applicable);
  EXPECT_EQ(outcome.trials[4].status, TrialStatus::launch_failed);
  ASSERT_THAT(outcome.comparisons, SizeIs(1));
  EXPECT_EQ(outcome.comparisons[0].challenger, candidate("b"));
}

TEST(Tuning, FindsAReplacementForAnIncumbentThatFails) {
  for (const Fault fault : {Fault::wrong_result, Fault::launch_fails_later}) {
    const auto operation =
        scripted_operation({scripted_solver("a", {.fault = fault}), scripted_solver("b", {.time = 300us}),
                            scripted_solver("c", {.time = 200us})});
    ScriptedWorker fixture;
    const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a")});
    EXPECT_NE(outcome.trials.at(0).status, TrialStatus::ok);
    EXPECT_THAT(outcome.comparisons, IsEmpty());
    ASSERT_FALSE(outcome.prepared.empty());
    EXPECT_EQ(outcome.prepared[0].candidate, candidate("c"));
  }
}

TEST(Tuning, LoadThatChangesDuringTheSearchDoesNotMislead) {
  // The device gets slower all the time: what is measured last looks worst.
  const auto load = [](std::chrono::nanoseconds now) { return 1 + std::chrono::duration<double>(now).count() * 10; };
  const auto operation =
      scripted_operation({scripted_solver("a", {.time = 200us}), scripted_solver("b", {.time = 190us}),
                          scripted_solver("c", {.time = 195us}), scripted_solver("d", {.time = 160us})});
  ScriptedWorker fixture({.slowdown = load, .jitter = 0.02});
  const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a")});
  ASSERT_FALSE(outcome.comparisons.empty());
  EXPECT_EQ(outcome.comparisons[0].challenger, candidate("d"));
  EXPECT_NEAR(outcome.comparisons[0].ratio, 0.8, 0.03);
}

TEST(Tuning, CompilesNothingWhenItMayNot) {
  const auto compiled = scripted_solver("compiled", {.compiles = true});
  const auto operation = scripted_operation({scripted_solver("a"), compiled, scripted_solver("b")});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(TuneJob{.subject = subject(operation),
                                              .incumbent = candidate("a"),
                                              .first = {candidate("compiled")},
                                              .may_compile = false});
  EXPECT_THAT(names(outcome.trials), ElementsAre("a", "b"));
  EXPECT_EQ(compiled->prepared(), 0);
}

TEST(Tuning, IsReproducible) {
  const auto run = [] {
    const auto operation =
        scripted_operation({scripted_solver("a", {.time = 150us}), scripted_solver("b", spacious(200us, 0.5)),
                            scripted_solver("c", spacious(220us, 0.6))});
    ScriptedWorker fixture({.jitter = 0.02, .seed = 5});
    return names(
        fixture
            .run(TuneJob{
                .subject = subject(operation), .incumbent = candidate("a"), .budget = {.evaluations = 40}, .seed = 9})
            .trials);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace hone::workers
