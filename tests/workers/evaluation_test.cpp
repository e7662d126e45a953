// What a candidate must pass before it is measured, seen through the worker that does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/error.hpp>

#include "tests/support/scripted_worker.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::candidate;
using test::Doubling;
using test::Fault;
using test::Script;
using test::scripted_operation;
using test::scripted_solver;
using test::ScriptedWorker;
using test::subject;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SearchSpace tiles() {
  SearchSpace space;
  space.integer("tile", {1, 2, 4, 8});
  return space;
}

struct Row {
  const char* name;
  Script script;
  Candidate candidate;
  TrialStatus status;
  const char* reason;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

const Row failures[] = {
    {"UnknownSolver", {}, {"b", 1, ""}, TrialStatus::not_applicable, "no solver 'b'"},
    {"OtherVersion", {.version = 2}, {"a", 1, ""}, TrialStatus::not_applicable, "version 2, not 1"},
    {"Refused",
     {.refusal = "elements must be even"},
     {"a", 1, ""},
     TrialStatus::not_applicable,
     "elements must be even"},
    {"OutsideTheSpace", {.space = tiles()}, {"a", 1, "tile=3"}, TrialStatus::not_applicable, "'tile=3' lies outside"},
    {"ConfiguredWithoutASpace", {}, {"a", 1, "tile=1"}, TrialStatus::not_applicable, "'tile=1' lies outside"},
    {"WorkspaceBeyondTheCap", {.workspace = 1 << 30}, {"a", 1, ""}, TrialStatus::not_applicable, "max_buffer_bytes"},
    {"ThrowsInApplicable",
     {.fault = Fault::throws_in_applicable},
     {"a", 1, ""},
     TrialStatus::not_applicable,
     "scripted failure"},
    {"ThrowsInPrepare",
     {.fault = Fault::throws_in_prepare},
     {"a", 1, ""},
     TrialStatus::prepare_failed,
     "scripted failure"},
    {"ThrowsAnIntInPrepare",
     {.fault = Fault::throws_other_in_prepare},
     {"a", 1, ""},
     TrialStatus::prepare_failed,
     "no std::exception"},
    {"PreparesNothing",
     {.fault = Fault::prepares_nothing},
     {"a", 1, ""},
     TrialStatus::prepare_failed,
     "prepared nothing"},
    {"LaunchFails", {.fault = Fault::launch_fails}, {"a", 1, ""}, TrialStatus::launch_failed, "the launch failed"},
    {"WrongResult", {.fault = Fault::wrong_result}, {"a", 1, ""}, TrialStatus::wrong_result, "y[0] is "},
    {"NotANumber", {.fault = Fault::result_is_not_a_number}, {"a", 1, ""}, TrialStatus::wrong_result, "y[0] is nan"},
    {"TouchesGaps",
     {.fault = Fault::touches_gaps},
     {"a", 1, ""},
     TrialStatus::wrong_result,
     "y[1], which must stay untouched"},
    {"ChangesInput", {.fault = Fault::changes_input}, {"a", 1, ""}, TrialStatus::wrong_result, "changed its input x"},
    {"WritesPastTheEnd",
     {.fault = Fault::writes_past_end},
     {"a", 1, ""},
     TrialStatus::wrong_result,
     "behind the end of y"},
};

class FailingCandidate : public testing::TestWithParam<Row> {};

TEST_P(FailingCandidate, IsATrialWithItsReason) {
  const Row& row = GetParam();
  const auto solver = scripted_solver("a", row.script);
  ScriptedWorker fixture;
  const Outcome outcome =
      fixture.run(PrepareJob{subject(scripted_operation({solver}), Doubling{.stride = 2}), row.candidate});
  EXPECT_FALSE(outcome.error) << outcome.cause;
  ASSERT_THAT(outcome.trials, SizeIs(1));
  EXPECT_EQ(outcome.trials[0].status, row.status);
  EXPECT_EQ(outcome.trials[0].candidate, row.candidate);
  EXPECT_THAT(outcome.trials[0].reason, HasSubstr(row.reason));
  EXPECT_FALSE(outcome.trials[0].timing.known());
  EXPECT_THAT(outcome.prepared, IsEmpty());
  // What never came near the device needs no marker; whatever did has come back.
  const auto entries = fixture.journal->entries();
  if (row.status == TrialStatus::not_applicable) {
    EXPECT_THAT(entries, IsEmpty());
    EXPECT_EQ(solver->prepared(), 0);
  } else {
    EXPECT_THAT(entries, ElementsAre("begin a", "end a"));
  }
}

INSTANTIATE_TEST_SUITE_P(Failures, FailingCandidate, testing::ValuesIn(failures),
                         [](const testing::TestParamInfo<Row>& row) { return std::string(row.param.name); });

// Whether it was prepared in its turn or ahead of it.
TEST(Evaluation, TheFactsOfItsCodeAreInItsTrial) {
  const CodeFacts facts{{"vector_registers", 64}};
  const CodeFacts many{{"vector_registers", 64}, {"spilled_registers", 100}};
  const auto reject = [&](const Configuration& configuration) {
    if (configuration.at("tile") == 8) throw RejectedCode("it spills 100 registers", many);
  };
  const auto incumbent = scripted_solver("incumbent", {.facts = {{"vector_registers", 1}}});
  const auto tiled =
      scripted_solver("a", {.compiles = true, .space = tiles(), .defaults = {1}, .compiler = reject, .facts = facts});
  ScriptedWorker fixture;
  TuneJob job{.subject = subject(scripted_operation({incumbent, tiled}), Doubling{}),
              .incumbent = candidate("incumbent")};
  job.budget.wall_time = 1s;
  const Outcome outcome = fixture.run(job);
  ASSERT_THAT(outcome.trials, SizeIs(5)) << outcome.cause;
  EXPECT_EQ(outcome.trials[0].facts, (CodeFacts{{"vector_registers", 1}}));
  int rejected = 0;
  for (const Trial& trial : outcome.trials) {
    if (trial.candidate.solver != "a") continue;
    if (trial.candidate.configuration != "tile=8") {
      EXPECT_EQ(trial.facts, facts) << trial.candidate.configuration;
      continue;
    }
    ++rejected;
    EXPECT_EQ(trial.status, TrialStatus::prepare_failed);
    EXPECT_EQ(trial.reason, "it spills 100 registers");
    EXPECT_EQ(trial.facts, many);
  }
  EXPECT_EQ(rejected, 1);
  EXPECT_EQ(tiled->prepared(), 4);
}

TEST(Evaluation, PassesAWorkingCandidate) {
  const auto operation = scripted_operation({scripted_solver("a", {.workspace = 1000, .space = tiles()})});
  ScriptedWorker fixture;
  for (const bool accumulate : {false, true}) {
    const Outcome outcome = fixture.run(
        PrepareJob{subject(operation, Doubling{.stride = 3, .accumulate = accumulate}), candidate("a", "tile=4")});
    ASSERT_THAT(outcome.trials, SizeIs(1));
    EXPECT_EQ(outcome.trials[0].status, TrialStatus::ok) << outcome.trials[0].reason;
    EXPECT_EQ(outcome.trials[0].workspace, 1000u);
    ASSERT_THAT(outcome.prepared, SizeIs(1));
    EXPECT_EQ(outcome.prepared[0].candidate, candidate("a", "tile=4"));
    EXPECT_NE(outcome.prepared[0].invoker, nullptr);
    EXPECT_EQ(outcome.prepared[0].workspace, 1000u);
  }
}

TEST(Evaluation, NeverRunsAQuarantinedCandidate) {
  const auto solver = scripted_solver("a");
  ScriptedWorker fixture;
  Subject problem = subject(scripted_operation({solver}));
  problem.quarantined = {candidate("a")};
  const Outcome outcome = fixture.run(PrepareJob{problem, candidate("a")});
  ASSERT_THAT(outcome.trials, SizeIs(1));
  EXPECT_EQ(outcome.trials[0].status, TrialStatus::not_applicable);
  EXPECT_THAT(outcome.trials[0].reason, HasSubstr("quarantined"));
  EXPECT_EQ(solver->prepared(), 0);
}

TEST(Evaluation, ComputesTheReferenceOnceAJob) {
  const auto operation = scripted_operation({scripted_solver("a"), scripted_solver("b"), scripted_solver("c")});
  ScriptedWorker fixture;
  fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a")});
  EXPECT_EQ(operation->references(), 1);
}

TEST(Evaluation, EndsTheJobWhenBuffersExceedTheCap) {
  const auto operation = scripted_operation({scripted_solver("a")});
  WorkerOptions options = ScriptedWorker::whole_time();
  options.max_buffer_bytes = 1000;
  ScriptedWorker fixture({}, options);
  Outcome outcome = fixture.run(PrepareJob{subject(operation, Doubling{.elements = 200}), candidate("a")});
  EXPECT_EQ(outcome.error, Errc::out_of_memory);
  EXPECT_THAT(outcome.cause, HasSubstr("HONE_MAX_BUFFER_BYTES"));
  EXPECT_EQ(fixture.device->allocated(), 0u);
  // The next job is not harmed.
  EXPECT_FALSE(fixture.run(PrepareJob{subject(operation), candidate("a")}).error);
}

TEST(Evaluation, AFlushBufferCountsAgainstTheCap) {
  const auto operation = scripted_operation({scripted_solver("a")});
  WorkerOptions options = ScriptedWorker::whole_time();
  options.cold_cache = true;
  options.max_buffer_bytes = 2 * 65536 + 2 * (64 + 64);  // two caches, and two operands with their guards
  EXPECT_FALSE(ScriptedWorker({}, options).run(PrepareJob{subject(operation), candidate("a")}).error);
  --options.max_buffer_bytes;
  EXPECT_EQ(ScriptedWorker({}, options).run(PrepareJob{subject(operation), candidate("a")}).error, Errc::out_of_memory);
}

TEST(Evaluation, EndsTheJobWhenTheDeviceHasNoMemory) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  fixture.device->memory_limit = 10;
  EXPECT_EQ(fixture.run(PrepareJob{subject(operation), candidate("a")}).error, Errc::out_of_memory);
}

TEST(Evaluation, EndsTheJobWhenTheDeviceVanishes) {
  const auto operation =
      scripted_operation({scripted_solver("a"), scripted_solver("b", {.fault = Fault::loses_device})});
  ScriptedWorker fixture;
  const Outcome outcome = fixture.run(VerifyJob{
      .subject = subject(operation), .claimed = candidate("a"), .reported = 200us, .rivals = {candidate("b")}});
  EXPECT_EQ(outcome.error, Errc::no_device);
  EXPECT_FALSE(outcome.cause.empty());
  EXPECT_THAT(outcome.comparisons, IsEmpty());
  EXPECT_FALSE(fixture.worker->running());
}

TEST(Evaluation, EndsTheJobWhenTheClockFails) {
  for (const std::chrono::nanoseconds shown : {0ns, -5ns}) {
    const auto operation = scripted_operation({scripted_solver("a")});
    WorkerOptions options = ScriptedWorker::whole_time();
    options.sampling.max_batch = 100;
    ScriptedWorker fixture({.clock = [shown](std::chrono::nanoseconds) { return shown; }}, options);
    const Outcome outcome = fixture.run(VerifyJob{.subject = subject(operation), .claimed = candidate("a")});
    EXPECT_EQ(outcome.error, Errc::clock_failed);
    ASSERT_THAT(outcome.trials, SizeIs(1));
    EXPECT_FALSE(outcome.trials[0].timing.known());
  }
}

}  // namespace
}  // namespace hone::workers
