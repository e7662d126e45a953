// Candidates that ruin their process, measured in one of their own: each costs its trial and nothing else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <future>
#include <hone/error.hpp>

#include "tests/support/child_processes.hpp"
#include "tests/support/faulty_operation.hpp"
#include "tests/support/recording_journal.hpp"
#include "workers/stream_worker.hpp"

extern char** environ;

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::children_of;
using test::Increment;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

Candidate candidate(std::string solver, std::string configuration = "") {
  return {std::move(solver), 1, std::move(configuration)};
}

class IsolationTest : public ::testing::Test {
 protected:
  IsolationTest() { start({.program = {ISOLATED_PROGRAM}}); }

  void start(IsolationOptions isolation) {
    worker_.reset();
    WorkerOptions options;
    options.background_share = 1;
    options.sampling.min_batch = 20us;
    options.isolation = std::move(isolation);
    worker_ = std::make_unique<StreamWorker>(host_device(), system_clock(), journal_, options);
  }

  static TuneJob tuning(std::vector<Candidate> first, std::shared_ptr<const Operation> operation) {
    TuneJob job{.subject = {Problem(Increment{}), std::move(operation), {}}, .incumbent = candidate("slow")};
    job.first = std::move(first);
    job.search_parameters = false;
    return job;
  }
  std::future<Outcome> submit(Job job) {
    auto outcome = std::make_shared<std::promise<Outcome>>();
    worker_->submit(std::move(job), [outcome](Outcome of) { outcome->set_value(std::move(of)); });
    return outcome->get_future();
  }
  Outcome run(Job job) { return submit(std::move(job)).get(); }
  Outcome tune(const std::string& harm) {
    return run(tuning({candidate(harm), candidate("good")}, test::faulty_operation({harm})));
  }

  static const Trial& trial_of(const Outcome& outcome, std::string_view solver) {
    static const Trial none{.reason = "there is no such trial"};
    for (const Trial& trial : outcome.trials) {
      if (trial.candidate.solver == solver) return trial;
    }
    ADD_FAILURE() << "no trial of " << solver << "; the job: " << outcome.cause;
    return none;
  }
  static void expect_good_won(const Outcome& outcome) {
    EXPECT_FALSE(outcome.error) << outcome.cause;
    ASSERT_FALSE(outcome.comparisons.empty());
    EXPECT_EQ(outcome.comparisons.front().challenger, candidate("good"));
    EXPECT_LT(outcome.comparisons.front().high, 1);
    bool ready = false;
    for (const Prepared& prepared : outcome.prepared) ready = ready || prepared.candidate.solver == "good";
    EXPECT_TRUE(ready);
  }
  // The isolated process of this worker.
  static pid_t child() {
    const auto children = children_of(getpid());
    EXPECT_EQ(children.size(), 1u);
    return children.empty() ? 0 : children.front();
  }

  std::shared_ptr<test::RecordingJournal> journal_ = std::make_shared<test::RecordingJournal>();
  std::unique_ptr<StreamWorker> worker_;
};

struct Row {
  const char* harm;
  std::vector<TrialStatus> status;  // any of them
  const char* reason;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.harm; }

class HarmTest : public IsolationTest, public testing::WithParamInterface<Row> {};

TEST_P(HarmTest, CostsItsTrialAndNothingElse) {
  const Row& row = GetParam();
  const Outcome outcome = tune(row.harm);
  const Trial& trial = trial_of(outcome, row.harm);
  EXPECT_THAT(row.status, Contains(trial.status)) << trial.reason;
  if (!sanitized) {
    EXPECT_THAT(trial.reason, HasSubstr(row.reason));
  }
  expect_good_won(outcome);
  // And the next job finds everything as it should be.
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
}

INSTANTIATE_TEST_SUITE_P(
    Isolation, HarmTest,
    testing::Values(Row{"segmentation_fault", {TrialStatus::crashed}, "signal 11"},
                    Row{"aborts", {TrialStatus::crashed}, "signal 6"}, Row{"stops", {TrialStatus::crashed}, "signal 4"},
                    Row{"overflows_stack", {TrialStatus::crashed}, "signal 11"},
                    Row{"exits", {TrialStatus::crashed}, "exit status 3"},
                    Row{"exits_quietly", {TrialStatus::crashed}, "exit status 0"},
                    Row{"throws", {TrialStatus::crashed}, "signal 6"},
                    Row{"corrupts_memory", {TrialStatus::crashed, TrialStatus::wrong_result}, ""},
                    Row{"wrong_result", {TrialStatus::wrong_result}, "y[0] is 0"},
                    Row{"floods_output", {TrialStatus::ok}, ""},
                    Row{"closes_files", {TrialStatus::crashed}, "its process"},
                    Row{"crashes_later", {TrialStatus::crashed}, "signal 11"},
                    Row{"crashes_in_prepare", {TrialStatus::crashed}, "signal 11"},
                    Row{"throws_in_prepare", {TrialStatus::prepare_failed}, "it cannot be compiled"}),
    [](const auto& row) { return std::string(row.param.harm); });

class HangTest : public IsolationTest, public testing::WithParamInterface<const char*> {};

TEST_P(HangTest, IsEndedByTheWatchdogAndTheJobGoesOn) {
  const std::string harm = GetParam();
  auto outcome = submit(tuning({candidate(harm), candidate("good")}, test::faulty_operation({harm})));
  while (outcome.wait_for(1ms) != std::future_status::ready) {
    const auto running = worker_->running();
    if (running && running->candidate.solver == harm && worker_->interrupt(*running)) break;
  }
  const Outcome result = outcome.get();
  EXPECT_EQ(trial_of(result, harm).status, TrialStatus::timed_out);
  EXPECT_THAT(trial_of(result, harm).reason, HasSubstr("did not come back"));
  expect_good_won(result);
}

INSTANTIATE_TEST_SUITE_P(Isolation, HangTest, testing::Values("hangs", "hangs_in_prepare"),
                         [](const auto& name) { return std::string(name.param); });

TEST_F(IsolationTest, AWorkerThatIsAbandonedEndsItsProcessAndItsThread) {
  auto outcome = submit(tuning({candidate("hangs")}, test::faulty_operation({"hangs"})));
  for (auto running = worker_->running(); !running || running->candidate.solver != "hangs";) {
    std::this_thread::sleep_for(1ms);
    running = worker_->running();
  }
  worker_->abandon();
  EXPECT_TRUE(worker_->wait(60s));
  EXPECT_THAT(children_of(getpid()), IsEmpty());
}

TEST_F(IsolationTest, WhatIsMeasuredLeavesNoMarkerAndOnlyWinnersArePreparedHere) {
  tune("segmentation_fault");
  EXPECT_THAT(journal_->entries(), Not(Contains(HasSubstr("segmentation_fault"))));
  EXPECT_THAT(journal_->entries(), Contains("begin good"));
}

TEST_F(IsolationTest, FactsOfTheCodeComeBackWithTheTrial) {
  const Outcome outcome = tune("rejects_its_code");
  const Trial& rejected = trial_of(outcome, "rejects_its_code");
  EXPECT_EQ(rejected.status, TrialStatus::prepare_failed);
  EXPECT_EQ(rejected.reason, "its code is not worth a run");
  EXPECT_EQ(rejected.facts, (CodeFacts{{"spilled_registers", 500}}));
  EXPECT_EQ(trial_of(outcome, "slow").facts, (CodeFacts{{"less_than_nothing", -1}, {"repeats", 40}}));
  EXPECT_EQ(trial_of(outcome, "good").facts, (CodeFacts{{"less_than_nothing", -1}, {"repeats", 1}}));
  expect_good_won(outcome);
}

// The sentence is cut, and what comes before it is whole.
TEST(IsolationMessage, ALongSentenceLeavesTheFactsWhole) {
  const Reply reply{.error = Errc::launch_failed,
                    .cause = std::string(2 * max_message_bytes, 'x'),
                    .value = 7,
                    .facts = {{"a", 1}, {"b", -2}}};
  Reply back;
  ASSERT_TRUE(decode(encode(reply), back));
  EXPECT_EQ(back.facts, reply.facts);
  EXPECT_EQ(back.value, 7u);
  EXPECT_LT(back.cause.size(), max_message_bytes);
  // A count of facts that are not there.
  MessageWriter wrong;
  wrong.number(0).number(0).number(~std::uint64_t{0}).text("a").number(1);
  EXPECT_FALSE(decode(wrong.bytes(), back));
}

TEST_F(IsolationTest, AThousandCrashesLeaveTheProcessAsItWas) {
  const auto operation = test::faulty_operation({}, 1001);
  expect_good_won(run(tuning({candidate("good")}, operation)));
  const auto files = test::open_files(getpid());
  const std::size_t threads = test::thread_count(getpid());
  const int count = sanitized ? 100 : 1000;
  std::vector<Candidate> first;
  for (int point = 1; point <= count; ++point) first.push_back(candidate("crashing", "point=" + std::to_string(point)));
  first.push_back(candidate("good"));
  const Outcome outcome = run(tuning(first, operation));
  expect_good_won(outcome);
  int crashed = 0;
  for (const Trial& trial : outcome.trials) crashed += trial.status == TrialStatus::crashed ? 1 : 0;
  EXPECT_EQ(crashed, count);
  EXPECT_EQ(test::thread_count(getpid()), threads);
  EXPECT_THAT(children_of(getpid()), SizeIs(1));
  EXPECT_EQ(test::open_files(getpid()).size(), files.size());
  worker_.reset();
  EXPECT_THAT(children_of(getpid()), IsEmpty());
}

TEST_F(IsolationTest, AProcessThatIsKilledWhileIdleIsStartedAgain) {
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
  const pid_t first = child();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
  EXPECT_NE(child(), first);
}

TEST_F(IsolationTest, TheProcessIsKeptFromJobToJobAndHasNoFileOfTheEngines) {
  const int file = open("/proc/self/cmdline", O_RDONLY);  // as a server's, not closed on exec
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
  const pid_t first = child();
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
  EXPECT_EQ(child(), first);
  EXPECT_THAT(test::open_files(first), Not(Contains(HasSubstr("cmdline"))));
  EXPECT_THAT(test::open_files(first), SizeIs(testing::Le(5u)));
  close(file);
}

// The process has been damaged by another candidate before: the second one is tried again, alone, and is innocent.
TEST_F(IsolationTest, ACandidateIsNotBlamedForACrashInCompany) {
  const Outcome outcome =
      run(tuning({candidate("crashes_in_company"), candidate("good")}, test::faulty_operation({"crashes_in_company"})));
  EXPECT_EQ(trial_of(outcome, "crashes_in_company").status, TrialStatus::ok)
      << trial_of(outcome, "crashes_in_company").reason;
  EXPECT_FALSE(outcome.error) << outcome.cause;
  EXPECT_EQ(trial_of(outcome, "good").status, TrialStatus::ok);
  // Which of the two is faster is nobody's business.
  ASSERT_FALSE(outcome.comparisons.empty());
  EXPECT_LT(outcome.comparisons.front().high, 1);
}

TEST_F(IsolationTest, AProblemThatDoesNotFitIntoTheStagingMemoryIsCopiedInPieces) {
  TuneJob job = tuning({candidate("good")}, test::faulty_operation());
  job.subject.problem = Problem(Increment{.elements = 3'000'001});
  const Outcome outcome = run(job);
  EXPECT_FALSE(outcome.error) << outcome.cause;
  EXPECT_EQ(trial_of(outcome, "good").status, TrialStatus::ok) << trial_of(outcome, "good").reason;
}

TEST_F(IsolationTest, TheMemoryOfTheProcessCanBeLimited) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's shadow memory exceeds any limit";
  start({.program = {ISOLATED_PROGRAM}, .memory_bytes = std::uint64_t{2} << 30});
  const Outcome outcome = tune("takes_memory");
  EXPECT_EQ(trial_of(outcome, "takes_memory").status, TrialStatus::prepare_failed);
  EXPECT_THAT(trial_of(outcome, "takes_memory").reason, HasSubstr("bad_alloc"));
  expect_good_won(outcome);
}

TEST_F(IsolationTest, AProgramThatCannotServeEndsTheJobWithASentence) {
  const std::pair<std::string, std::string> rows[] = {
      {"/nowhere/program", "cannot be started: /nowhere/program: No such file"},
      {"/bin/true", "exit status 0); its main must call hone::serve_isolated"},
      {"/bin/false", "did not answer"}};
  for (const auto& [program, sentence] : rows) {
    SCOPED_TRACE(program);
    start({.program = {program}});
    const Outcome outcome = run(tuning({candidate("good")}, test::faulty_operation()));
    EXPECT_EQ(outcome.error, Errc::no_isolation);
    EXPECT_THAT(outcome.cause, HasSubstr(sentence));
    EXPECT_THAT(children_of(getpid()), IsEmpty());
  }
}

TEST_F(IsolationTest, IsSwitchedOnAndOffForLaterJobs) {
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
  EXPECT_THAT(children_of(getpid()), SizeIs(1));
  worker_->set_options({.background_share = 1});
  expect_good_won(run(tuning({candidate("good")}, test::faulty_operation())));
  EXPECT_THAT(children_of(getpid()), IsEmpty());
}

// Also where a candidate does not come back, and so nobody reads from the socket.
TEST(IsolatedProcess, DiesWithItsEngine) {
  std::string program = ISOLATED_PROGRAM;
  std::string argument = "hang";
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t engine = 0;
  ASSERT_EQ(posix_spawn(&engine, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  std::vector<pid_t> children;
  while (children.empty()) {
    ASSERT_NE(test::state_of(engine), 'Z') << "it ended by itself";
    std::this_thread::sleep_for(1ms);
    children = children_of(engine);
  }
  kill(engine, SIGKILL);
  waitpid(engine, nullptr, 0);
  // A zombie, too, has ended: who reaps it is not hone's business.
  while (test::state_of(children.front()) != ' ' && test::state_of(children.front()) != 'Z') {
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace
}  // namespace hone::workers
