// Candidates are compiled ahead of their turn while others are measured.
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
using test::Gate;
using test::Script;
using test::scripted_operation;
using test::scripted_solver;
using test::ScriptedWorker;
using test::subject;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

// A compiler that is held at a gate.
struct HeldCompiler {
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::shared_ptr<std::atomic<int>> begun = std::make_shared<std::atomic<int>>(0);

  Script script() const {
    return {.time = 100us, .compiles = true, .compiler = [*this](const Configuration&) {
              ++*begun;
              gate->pass();
            }};
  }
};

TuneJob tuning(const std::shared_ptr<const Operation>& operation, std::vector<Candidate> first) {
  return {.subject = subject(operation),
          .incumbent = candidate("measured"),
          .first = std::move(first),
          .search_parameters = false};
}

std::vector<std::string> names(const std::vector<Trial>& trials) {
  std::vector<std::string> result;
  for (const Trial& trial : trials) result.push_back(to_string(trial.candidate));
  return result;
}

// Measuring and compiling at the same time, either one being the first to end.
TEST(CompileAhead, CompilesTheNextOnesWhileOneIsMeasured) {
  for (const bool compiled_first : {true, false}) {
    const auto measured = scripted_solver("measured", {.fault = Fault::hangs_in_run});
    const HeldCompiler b, c;
    const auto operation =
        scripted_operation({measured, scripted_solver("b", b.script()), scripted_solver("c", c.script())});
    ScriptedWorker fixture;
    auto outcome = fixture.submit(tuning(operation, {candidate("b"), candidate("c")}));
    measured->script().gate->wait_for_arrival();
    b.gate->wait_for_arrival();
    c.gate->wait_for_arrival();
    if (!compiled_first) measured->script().gate->open();
    c.gate->open();
    b.gate->open();
    if (compiled_first) measured->script().gate->open();
    const Outcome result = outcome.get();
    EXPECT_THAT(names(result.trials), ElementsAre("measured", "b", "c"));
    for (const Trial& trial : result.trials) EXPECT_EQ(trial.status, TrialStatus::ok);
    EXPECT_EQ(*b.begun, 1);
    EXPECT_EQ(*c.begun, 1);
    ASSERT_FALSE(result.comparisons.empty());
    EXPECT_LT(result.comparisons[0].high, 0.6);
  }
}

TEST(CompileAhead, MarksCompilingAndTheFirstRunEachForItself) {
  const auto measured = scripted_solver("measured", {.fault = Fault::hangs_in_run});
  const HeldCompiler b;
  const auto operation = scripted_operation({measured, scripted_solver("b", b.script())});
  ScriptedWorker fixture;
  auto outcome = fixture.submit(tuning(operation, {candidate("b")}));
  measured->script().gate->wait_for_arrival();
  b.gate->wait_for_arrival();
  EXPECT_THAT(fixture.journal->entries(), testing::UnorderedElementsAre("begin measured", "begin b"));
  b.gate->open();
  measured->script().gate->open();
  outcome.get();
  const auto entries = fixture.journal->entries();
  EXPECT_EQ(std::count(entries.begin(), entries.end(), "begin b"), 2);
  EXPECT_EQ(std::count(entries.begin(), entries.end(), "end b"), 2);
}

TEST(CompileAhead, AFailureIsATrialInItsTurn) {
  const auto operation = scripted_operation(
      {scripted_solver("measured"), scripted_solver("throws", {.fault = Fault::throws_in_prepare, .compiles = true}),
       scripted_solver("other", {.fault = Fault::throws_other_in_prepare, .compiles = true}),
       scripted_solver("null", {.fault = Fault::prepares_nothing, .compiles = true}),
       scripted_solver("refused", {.refusal = "not here", .compiles = true})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(tuning(operation, {candidate("throws"), candidate("other"), candidate("null"),
                                                         candidate("refused"), candidate("unknown")}));
  ASSERT_THAT(names(outcome.trials), ElementsAre("measured", "throws", "other", "null", "refused", "unknown"));
  for (std::size_t i = 1; i <= 3; ++i) EXPECT_EQ(outcome.trials[i].status, TrialStatus::prepare_failed);
  EXPECT_EQ(outcome.trials[1].reason, "scripted failure");
  EXPECT_EQ(outcome.trials[3].reason, "its solver prepared nothing");
  EXPECT_EQ(outcome.trials[4].status, TrialStatus::not_applicable);
}

TEST(CompileAhead, QuarantinedCandidatesAreNotCompiled) {
  const HeldCompiler b;
  b.gate->open();
  const auto operation = scripted_operation({scripted_solver("measured"), scripted_solver("b", b.script())});
  ScriptedWorker fixture;
  TuneJob job = tuning(operation, {candidate("b")});
  job.subject.quarantined = {candidate("b")};
  EXPECT_EQ(fixture.run(std::move(job)).trials.at(1).reason, "it is quarantined");
  EXPECT_EQ(*b.begun, 0);
}

// A search over a space of compiled points: the strategy is asked at most so many points ahead.
struct CompiledSpace {
  std::mutex mutex;
  std::set<std::string> compiled;

  Script script(const std::function<void(const Configuration&)>& delay = {}) {
    SearchSpace space;
    space.range("tile", 1, 8).range("unroll", 1, 8);
    return {.time = 200us,
            .compiles = true,
            .space = space,
            .defaults = {1, 1},
            .configured =
                [](const Configuration& c) { return 1 - static_cast<double>(c.at("tile") * c.at("unroll")) / 128; },
            .compiler =
                [this, delay](const Configuration& c) {
                  if (delay) delay(c);
                  const std::lock_guard lock(mutex);
                  compiled.insert(c.text());
                }};
  }
};

TEST(CompileAhead, TheOrderOfTrialsDoesNotDependOnTheCompiler) {
  const auto search = [](const std::function<void(const Configuration&)>& delay, std::size_t look_ahead) {
    CompiledSpace space;
    const auto operation = scripted_operation({scripted_solver("measured"), scripted_solver("b", space.script(delay))});
    WorkerOptions options = ScriptedWorker::whole_time();
    options.look_ahead = look_ahead;
    ScriptedWorker fixture({.jitter = 0.01, .seed = 3}, options);
    const Outcome outcome = fixture.run(TuneJob{
        .subject = subject(operation), .incumbent = candidate("measured"), .budget = {.evaluations = 30}, .seed = 4});
    EXPECT_EQ(outcome.stop, StopReason::evaluations);
    EXPECT_THAT(outcome.trials, SizeIs(30));
    for (const Trial& trial : outcome.trials) EXPECT_EQ(trial.status, TrialStatus::ok);
    const std::lock_guard lock(space.mutex);
    // All but `measured` were compiled, and nothing to speak of beyond the budget.
    EXPECT_GE(space.compiled.size(), 29u);
    EXPECT_LE(space.compiled.size(), 30u);
    return names(outcome.trials);
  };
  const auto odd_first = [](const Configuration& c) {
    if (c.at("tile") % 2 == 0) std::this_thread::sleep_for(1ms);
  };
  const auto even_first = [](const Configuration& c) {
    if (c.at("tile") % 2 == 1) std::this_thread::sleep_for(1ms);
  };
  const auto expected = search({}, 2);
  EXPECT_EQ(search(odd_first, 2), expected);
  EXPECT_EQ(search(even_first, 2), expected);
  EXPECT_EQ(search(odd_first, 0), search({}, 0));
}

// Cancellation: before a preparation begins, while it runs, and after it.

TEST(CompileAhead, CancellingWaitsForWhatIsBeingCompiledAndBeginsNothingMore) {
  const auto measured = scripted_solver("measured", {.fault = Fault::hangs_in_run});
  const HeldCompiler b, c;
  const auto operation =
      scripted_operation({measured, scripted_solver("b", b.script()), scripted_solver("c", c.script())});
  WorkerOptions options = ScriptedWorker::whole_time();
  options.look_ahead = 1;
  ScriptedWorker fixture({}, options);
  auto outcome = fixture.submit(tuning(operation, {candidate("b"), candidate("c")}));
  measured->script().gate->wait_for_arrival();
  b.gate->wait_for_arrival();
  fixture.worker->cancel();
  measured->script().gate->open();
  EXPECT_FALSE(fixture.worker->wait(5ms));
  b.gate->open();
  c.gate->open();
  EXPECT_EQ(outcome.get().stop, StopReason::cancelled);
  EXPECT_TRUE(fixture.worker->wait(1min));
  EXPECT_EQ(*c.begun, 0);
}

TEST(CompileAhead, WhatIsCompiledWhenCancelledIsNoTrial) {
  const auto measured = scripted_solver("measured", {.fault = Fault::hangs_in_run});
  const HeldCompiler b;
  b.gate->open();
  const auto operation = scripted_operation({measured, scripted_solver("b", b.script())});
  ScriptedWorker fixture;
  auto outcome = fixture.submit(tuning(operation, {candidate("b")}));
  measured->script().gate->wait_for_arrival();
  while (*b.begun == 0) std::this_thread::yield();
  fixture.worker->cancel();
  measured->script().gate->open();
  const Outcome result = outcome.get();
  EXPECT_EQ(result.stop, StopReason::cancelled);
  EXPECT_THAT(names(result.trials), Not(Contains("b")));
  EXPECT_TRUE(fixture.worker->wait(1min));
}

TEST(CompileAhead, NothingIsCompiledWhilePaused) {
  const HeldCompiler b;
  b.gate->open();
  const auto operation = scripted_operation({scripted_solver("measured"), scripted_solver("b", b.script())});
  ScriptedWorker fixture;
  fixture.worker->pause();
  auto outcome = fixture.submit(tuning(operation, {candidate("b")}));
  EXPECT_EQ(outcome.wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(*b.begun, 0);
  fixture.worker->resume();
  EXPECT_THAT(outcome.get().trials, SizeIs(2));
  EXPECT_EQ(*b.begun, 1);
}

// A compiler that hangs.

TEST(CompileAhead, TheWatchdogSeesTheOneThatBeganFirst) {
  const auto measured = scripted_solver("measured", {.fault = Fault::hangs_in_run});
  const HeldCompiler b;
  const auto operation = scripted_operation({measured, scripted_solver("b", b.script())});
  ScriptedWorker fixture;
  auto outcome = fixture.submit(tuning(operation, {candidate("b")}));
  measured->script().gate->wait_for_arrival();
  b.gate->wait_for_arrival();
  fixture.clock->advance(1s);
  ASSERT_TRUE(fixture.worker->running());
  measured->script().gate->open();
  // The measured one comes back: what is left is the one that is compiled.
  while (fixture.worker->running()->candidate != candidate("b")) std::this_thread::yield();
  EXPECT_LT(fixture.worker->running()->since, 1s);
  b.gate->open();
  outcome.get();
  EXPECT_FALSE(fixture.worker->running());
}

TEST(CompileAhead, AnAbandonedCompilerHarmsNobody) {
  for (const bool waited_for : {true, false}) {
    const auto measured = scripted_solver("measured", {.fault = Fault::hangs_in_run});
    const HeldCompiler b;
    const auto completions = std::make_shared<std::atomic<int>>(0);
    std::weak_ptr<test::ScriptedDevice> device;
    std::shared_ptr<test::RecordingJournal> journal;
    {
      const auto operation = scripted_operation({measured, scripted_solver("b", b.script())});
      ScriptedWorker fixture;
      device = fixture.device;
      journal = fixture.journal;
      fixture.worker->submit(tuning(operation, {candidate("b")}), [completions](const Outcome&) { ++*completions; });
      measured->script().gate->wait_for_arrival();
      b.gate->wait_for_arrival();
      if (waited_for) measured->script().gate->open();
      fixture.worker->abandon();
    }
    EXPECT_FALSE(device.expired());
    if (!waited_for) measured->script().gate->open();
    b.gate->open();
    while (!device.expired()) std::this_thread::yield();
    EXPECT_EQ(*completions, 0);
    EXPECT_THAT(journal->entries(), Not(Contains("end b")));
  }
}

// The background share.

TEST(CompileAhead, CompilingAheadIsBusyTime) {
  ScriptedWorker fixture;
  const auto clock = fixture.clock;
  const auto operation = scripted_operation(
      {scripted_solver("measured"),
       scripted_solver("b", {.compiles = true, .compiler = [clock](const Configuration&) { clock->advance(10s); }})});
  fixture.run(tuning(operation, {candidate("b")}));
  EXPECT_GE(fixture.worker->busy(), 10s);
}

}  // namespace
}  // namespace hone::workers
