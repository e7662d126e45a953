#include "workers/stream_worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <hone/error.hpp>
#include <thread>

#include "tests/support/scripted_worker.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::candidate;
using test::Fault;
using test::Gate;
using test::ManualClock;
using test::Script;
using test::scripted_operation;
using test::scripted_solver;
using test::ScriptedWorker;
using test::subject;
using testing::ElementsAre;
using testing::IsEmpty;

Script hanging(Fault where = Fault::hangs_in_run) { return {.fault = where}; }

PrepareJob preparation(std::shared_ptr<const Operation> operation, std::string solver) {
  return {subject(std::move(operation)), candidate(std::move(solver))};
}

TEST(StreamWorker, CompletesJobsInOrderOnItsOwnThread) {
  const auto operation = scripted_operation({scripted_solver("a"), scripted_solver("b")});
  ScriptedWorker fixture;
  std::vector<std::string> order;
  std::vector<std::thread::id> threads;
  for (const char* solver : {"a", "b", "a"}) {
    fixture.worker->submit(preparation(operation, solver), [&](const Outcome& outcome) {
      order.push_back(outcome.prepared.at(0).candidate.solver);
      threads.push_back(std::this_thread::get_id());
    });
  }
  fixture.run(preparation(operation, "b"));
  EXPECT_THAT(order, ElementsAre("a", "b", "a"));
  for (const std::thread::id id : threads) EXPECT_NE(id, std::this_thread::get_id());
  EXPECT_THAT(fixture.journal->entries(),
              ElementsAre("begin a", "end a", "begin b", "end b", "begin a", "end a", "begin b", "end b"));
}

TEST(StreamWorker, NeedsADeviceThatGivesAStream) {
  auto clock = std::make_shared<ManualClock>();
  auto device = std::make_shared<test::ScriptedDevice>(clock);
  device->lose();
  try {
    const StreamWorker worker(device, clock, std::make_shared<test::RecordingJournal>(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::no_device);
  }
}

TEST(StreamWorker, AThrowingCompletionHarmsNobody) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  fixture.worker->submit(preparation(operation, "a"), [](const Outcome&) { throw std::runtime_error("from a test"); });
  fixture.worker->submit(preparation(operation, "a"), [](const Outcome&) { throw 1; });
  EXPECT_EQ(fixture.run(preparation(operation, "a")).prepared.size(), 1u);
}

// Pause and resume.

TEST(StreamWorker, StartsNothingWhilePausedBeforeTheJob) {
  const auto solver = scripted_solver("a");
  const auto operation = scripted_operation({solver});
  ScriptedWorker fixture;
  fixture.worker->pause();
  auto outcome = fixture.submit(preparation(operation, "a"));
  EXPECT_EQ(outcome.wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(solver->launches(), 0);
  fixture.worker->resume();
  EXPECT_EQ(outcome.get().prepared.size(), 1u);
}

TEST(StreamWorker, EndsTheRunningCandidateWhenPausedDuringIt) {
  const auto held = scripted_solver("held", hanging());
  const auto other = scripted_solver("other");
  const auto operation = scripted_operation({held, other});
  ScriptedWorker fixture;
  auto outcome = fixture.submit(TuneJob{
      .subject = subject(operation), .incumbent = candidate("held"), .first = {candidate("other")}, .budget = {}});
  held->script().gate->wait_for_arrival();
  fixture.worker->pause();
  held->script().gate->open();
  EXPECT_EQ(outcome.wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(other->launches(), 0);
  fixture.worker->resume();
  EXPECT_FALSE(outcome.get().error);
  EXPECT_GT(other->launches(), 0);
}

TEST(StreamWorker, PausesAreNoPartOfBusyTime) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  fixture.worker->pause();
  auto outcome = fixture.submit(preparation(operation, "a"));
  fixture.clock->advance(10s);
  fixture.worker->resume();
  EXPECT_LT(outcome.get().busy, 1s);
  EXPECT_LT(fixture.worker->busy(), 1s);
}

// The background share.

class BackgroundShare : public testing::TestWithParam<double> {};

TEST_P(BackgroundShare, BoundsTheBusyShareOfWallTime) {
  const auto operation = scripted_operation({scripted_solver("a"), scripted_solver("b", {.time = 300us})});
  WorkerOptions options;
  options.background_share = GetParam();
  ScriptedWorker fixture({}, options);
  const auto begin = fixture.clock->now();
  Outcome outcome;
  for (int i = 0; i < 5; ++i)
    outcome =
        fixture.run(TuneJob{.subject = subject(operation), .incumbent = candidate("a"), .first = {}, .budget = {}});
  const auto wall = fixture.clock->now() - begin;
  const double share = static_cast<double>(fixture.worker->busy().count()) / static_cast<double>(wall.count());
  EXPECT_EQ(outcome.trials.size(), 2u);
  EXPECT_GT(outcome.busy, 1ms);
  // The rest after the last job is owed and not yet taken.
  EXPECT_LE(share, GetParam() * 1.3);
  EXPECT_GE(share, GetParam() * 0.8);
}

INSTANTIATE_TEST_SUITE_P(Shares, BackgroundShare, testing::Values(0.05, 0.1, 0.5, 1.0));

TEST(StreamWorker, ARestEndsWhenTheShareIsRaised) {
  const auto operation = scripted_operation({scripted_solver("a", {.time = 10ms})});
  WorkerOptions options;
  options.background_share = 0.01;
  ScriptedWorker fixture({}, options, ManualClock::Sleep::blocks);
  auto outcome =
      fixture.submit(TuneJob{.subject = subject(operation), .incumbent = candidate("a"), .first = {}, .budget = {}});
  fixture.clock->wait_for_sleeper();
  options.background_share = 1;
  fixture.worker->set_options(options);
  EXPECT_FALSE(outcome.get().error);
}

TEST(StreamWorker, ARestEndsWhenTheWorkerIsCancelled) {
  const auto operation = scripted_operation({scripted_solver("a", {.time = 10ms})});
  WorkerOptions options;
  options.background_share = 0.01;
  ScriptedWorker fixture({}, options, ManualClock::Sleep::blocks);
  auto outcome =
      fixture.submit(TuneJob{.subject = subject(operation), .incumbent = candidate("a"), .first = {}, .budget = {}});
  fixture.clock->wait_for_sleeper();
  fixture.worker->cancel();
  EXPECT_EQ(outcome.get().stop, StopReason::cancelled);
}

// Cancel.

TEST(StreamWorker, RefusesJobsAfterCancel) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  fixture.worker->cancel();
  std::atomic<int> completions = 0;
  EXPECT_FALSE(fixture.worker->submit(preparation(operation, "a"), [&](const Outcome&) { ++completions; }));
  EXPECT_TRUE(fixture.worker->wait(1min));
  EXPECT_EQ(completions, 0);
}

TEST(StreamWorker, EndsRunningAndWaitingJobsWhenCancelled) {
  const auto held = scripted_solver("held", hanging());
  const auto other = scripted_solver("other");
  const auto operation = scripted_operation({held, other});
  ScriptedWorker fixture;
  auto running =
      fixture.submit(TuneJob{.subject = subject(operation), .incumbent = candidate("held"), .first = {}, .budget = {}});
  auto waiting = fixture.submit(preparation(operation, "other"));
  held->script().gate->wait_for_arrival();
  fixture.worker->cancel();
  EXPECT_FALSE(fixture.worker->wait(0ns));
  held->script().gate->open();
  const Outcome outcome = running.get();
  EXPECT_EQ(outcome.stop, StopReason::cancelled);
  EXPECT_EQ(outcome.error, std::errc::operation_canceled);
  EXPECT_EQ(outcome.trials.size(), 1u);
  EXPECT_EQ(waiting.get().stop, StopReason::cancelled);
  EXPECT_EQ(other->launches(), 0);
  EXPECT_TRUE(fixture.worker->wait(1min));
}

TEST(StreamWorker, EndsAPausedJobWhenCancelled) {
  const auto operation = scripted_operation({scripted_solver("a")});
  for (const bool cancelled_first : {true, false}) {
    ScriptedWorker fixture;
    fixture.worker->pause();
    auto outcome = fixture.submit(preparation(operation, "a"));
    if (cancelled_first) fixture.worker->cancel();
    if (!cancelled_first) fixture.worker->resume();
    if (!cancelled_first) fixture.worker->cancel();
    const Outcome result = outcome.get();
    EXPECT_TRUE(result.stop == StopReason::cancelled || (!cancelled_first && result.prepared.size() == 1));
    EXPECT_TRUE(fixture.worker->wait(1min));
  }
}

// Every accepted job completes exactly once, whichever comes first.
TEST(StreamWorker, SubmitAndCancelMayMeetInAnyOrder) {
  const auto operation = scripted_operation({scripted_solver("a")});
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> completions = 0;
    std::atomic<int> accepted = 0;
    {
      ScriptedWorker fixture;
      std::vector<std::thread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
          for (int k = 0; k < 5; ++k) {
            accepted += fixture.worker->submit(preparation(operation, "a"), [&](const Outcome&) { ++completions; });
          }
        });
      }
      threads.emplace_back([&] { fixture.worker->cancel(); });
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(completions, accepted);
  }
}

TEST(StreamWorker, MayBeDestroyedFromItsOwnCompletion) {
  const auto operation = scripted_operation({scripted_solver("a")});
  auto fixture = std::make_unique<ScriptedWorker>();
  std::promise<void> destroyed;
  fixture->worker->submit(preparation(operation, "a"), [&](const Outcome&) {
    fixture->worker.reset();
    destroyed.set_value();
  });
  destroyed.get_future().get();
}

// The watchdog's view.

class Watchdog : public testing::TestWithParam<Fault> {};

TEST_P(Watchdog, SeesWhatRunsAndSinceWhen) {
  const auto held = scripted_solver("held", hanging(GetParam()));
  const auto operation = scripted_operation({held});
  ScriptedWorker fixture;
  EXPECT_FALSE(fixture.worker->running());
  fixture.clock->advance(5s);
  auto outcome = fixture.submit(preparation(operation, "held"));
  held->script().gate->wait_for_arrival();
  const auto running = fixture.worker->running();
  ASSERT_TRUE(running);
  EXPECT_EQ(running->candidate, candidate("held"));
  EXPECT_EQ(running->problem, Problem(test::Doubling{}));
  EXPECT_GE(running->since, 5s);
  held->script().gate->open();
  outcome.get();
  EXPECT_FALSE(fixture.worker->running());
}

INSTANTIATE_TEST_SUITE_P(Hangs, Watchdog, testing::Values(Fault::hangs_in_prepare, Fault::hangs_in_run));

// Abandon.

class Abandoned : public testing::TestWithParam<Fault> {};

TEST_P(Abandoned, NeitherJournalNorCompletionHearAnythingMore) {
  const auto held = scripted_solver("held", hanging(GetParam()));
  const auto gate = held->script().gate;
  auto completions = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<test::RecordingJournal> journal;
  std::weak_ptr<test::ScriptedDevice> device;
  {
    ScriptedWorker fixture;
    journal = fixture.journal;
    device = fixture.device;
    const auto operation = scripted_operation({held});
    for (int i = 0; i < 2; ++i) {
      fixture.worker->submit(preparation(operation, "held"), [completions](const Outcome&) { ++*completions; });
    }
    gate->wait_for_arrival();
    fixture.worker->cancel();
    EXPECT_FALSE(fixture.worker->wait(1ms));
    fixture.worker->abandon();
    EXPECT_FALSE(
        fixture.worker->submit(preparation(operation, "held"), [completions](const Outcome&) { ++*completions; }));
  }
  // The worker object is gone, its thread still holds the device.
  EXPECT_FALSE(device.expired());
  gate->open();
  while (!device.expired()) std::this_thread::yield();
  EXPECT_EQ(*completions, 0);
  EXPECT_THAT(journal->entries(), ElementsAre("begin held"));
}

INSTANTIATE_TEST_SUITE_P(Hangs, Abandoned, testing::Values(Fault::hangs_in_prepare, Fault::hangs_in_run));

TEST(StreamWorker, AbandonWaitsForACompletionInProgress) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  auto gate = std::make_shared<Gate>();
  std::atomic<bool> returned = false;
  std::atomic<bool> completed = false;
  fixture.worker->submit(preparation(operation, "a"), [&](const Outcome&) {
    gate->pass();
    EXPECT_FALSE(returned);
    completed = true;
  });
  gate->wait_for_arrival();
  std::thread abandoning([&] {
    fixture.worker->abandon();
    returned = true;
    EXPECT_TRUE(completed);
  });
  gate->open();
  abandoning.join();
}

TEST(StreamWorker, AbandonWaitsForAJournalCallInProgress) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  fixture.journal->gate = std::make_shared<Gate>();
  std::atomic<int> completions = 0;
  fixture.worker->submit(preparation(operation, "a"), [&](const Outcome&) { ++completions; });
  fixture.journal->gate->wait_for_arrival();
  std::thread abandoning([&] { fixture.worker->abandon(); });
  fixture.journal->gate->open();
  abandoning.join();
  const auto entries = fixture.journal->entries();
  EXPECT_TRUE(fixture.worker->wait(1min));
  EXPECT_EQ(fixture.journal->entries(), entries);
}

TEST(StreamWorker, MayBeAbandonedFromItsOwnCompletion) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  std::atomic<int> second = 0;
  std::promise<void> done;
  fixture.worker->submit(preparation(operation, "a"), [&](const Outcome&) {
    fixture.worker->abandon();
    done.set_value();
  });
  fixture.worker->submit(preparation(operation, "a"), [&](const Outcome&) { ++second; });
  done.get_future().get();
  EXPECT_TRUE(fixture.worker->wait(1min));
  EXPECT_EQ(second, 0);
}

TEST(StreamWorker, AnAbandonedPausedWorkerEnds) {
  const auto operation = scripted_operation({scripted_solver("a")});
  ScriptedWorker fixture;
  fixture.worker->pause();
  fixture.worker->submit(preparation(operation, "a"), [](const Outcome&) { FAIL(); });
  fixture.worker->abandon();
  EXPECT_TRUE(fixture.worker->wait(1min));
}

}  // namespace
}  // namespace hone::workers
