// A worker on a scripted device in virtual time.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "tests/support/manual_clock.hpp"
#include "tests/support/recording_journal.hpp"
#include "tests/support/scripted_device.hpp"
#include "tests/support/scripted_operation.hpp"
#include "workers/job.hpp"
#include "workers/stream_worker.hpp"

namespace hone::test {

inline Candidate candidate(std::string solver, std::string configuration = "", std::uint32_t version = 1) {
  return {std::move(solver), version, std::move(configuration)};
}

inline workers::Subject subject(std::shared_ptr<const Operation> operation, const Doubling& problem = {}) {
  return {Problem(problem), std::move(operation), {}};
}

struct ScriptedWorker {
  explicit ScriptedWorker(Conditions conditions = {}, workers::WorkerOptions worker_options = whole_time(),
                          ManualClock::Sleep sleep = ManualClock::Sleep::advances)
      : clock(std::make_shared<ManualClock>(sleep)),
        device(std::make_shared<ScriptedDevice>(clock, std::move(conditions))),
        journal(std::make_shared<RecordingJournal>()),
        worker(std::make_unique<workers::StreamWorker>(device, clock, journal, std::move(worker_options))) {}

  // A background share of one: no rests.
  static workers::WorkerOptions whole_time() {
    workers::WorkerOptions options;
    options.background_share = 1;
    return options;
  }

  std::future<workers::Outcome> submit(workers::Job job) {
    auto promise = std::make_shared<std::promise<workers::Outcome>>();
    auto outcome = promise->get_future();
    if (!worker->submit(std::move(job), [promise](workers::Outcome o) { promise->set_value(std::move(o)); })) {
      promise->set_exception(std::make_exception_ptr(std::logic_error("the worker refused the job")));
    }
    return outcome;
  }
  // Returns when the job is done.
  workers::Outcome run(workers::Job job) { return submit(std::move(job)).get(); }

  std::shared_ptr<ManualClock> clock;
  std::shared_ptr<ScriptedDevice> device;
  std::shared_ptr<RecordingJournal> journal;
  std::unique_ptr<workers::StreamWorker> worker;
};

}  // namespace hone::test
