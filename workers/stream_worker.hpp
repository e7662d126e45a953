// A worker: one thread with one background stream and private buffers on one device.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <hone/clock.hpp>
#include <hone/device.hpp>
#include <memory>
#include <optional>

#include "workers/device_load.hpp"
#include "workers/isolation/isolation.hpp"
#include "workers/job.hpp"
#include "workers/sampling.hpp"

namespace hone::workers {

// What a worker tells while it works. Called on the worker's thread; attempts also on those that prepare candidates
// ahead, at any time between begin and end of a job.
class Journal {
 public:
  virtual ~Journal() = default;
  // Before a candidate's first run in this process, and after it came back.
  virtual void begin_attempt(const Problem& problem, const Candidate& candidate) = 0;
  virtual void end_attempt(const Problem& problem, const Candidate& candidate) = 0;
  // After each evaluation of a tuning job, for showing how far it is.
  virtual void evaluated(const Problem&, const Trial&) {}
};

struct WorkerOptions {
  std::uint64_t max_buffer_bytes = 1ull << 30;
  double background_share = 0.10;  // of wall time
  std::uint64_t seed = 1;          // of operand contents
  bool cold_cache = false;         // every sample is one launch after the caches were flushed
  SamplingOptions sampling = {};   // its cold_cache is ignored
  // A tuning job prepares so many candidates ahead of their turn while others are measured, each on a thread of its
  // own. For solvers that compile. Zero: none. Holds from the worker's construction on.
  std::size_t look_ahead = 2;
  // Where candidates are measured; none: in this process. Nothing is prepared ahead in isolation.
  std::optional<IsolationOptions> isolation = {};
  // What was learned of the device's idle time, to be shared by its workers; null: the worker learns for itself.
  std::shared_ptr<IdleTime> idle_time = {};
};

// What a worker that does not come back was running.
struct Running {
  Problem problem;
  Candidate candidate;
  std::chrono::nanoseconds since{0};  // Clock::now() when the candidate's present preparation or run began
};

// All members are thread-safe. A job's completion is called on the worker's thread, exactly once for every accepted
// job, unless the worker was abandoned: then it is not called any more. Jobs run one after the other, as submitted.
class StreamWorker {
 public:
  using Completion = std::function<void(Outcome)>;

  // Starts the thread. Throws Error(no_device) when the device gives no stream.
  StreamWorker(std::shared_ptr<Device> device, std::shared_ptr<Clock> clock, std::shared_ptr<Journal> journal,
               WorkerOptions options);
  // Cancels, and waits for the running candidate to come back unless the worker was abandoned.
  ~StreamWorker();
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  // True when the job is accepted; false after cancel() or abandon(), and then `completion` is never called. A throwing
  // completion is logged.
  bool submit(Job job, Completion completion);

  // Between two rounds of runs the worker waits while it is paused, and rests so that its busy share of wall time,
  // threads that prepare ahead included, stays within background_share. New options hold for later jobs, the share at
  // once.
  void pause() noexcept;
  void resume() noexcept;
  void set_options(WorkerOptions options) noexcept;

  // For good: the running job ends at the next opportunity with stop = cancelled and what it has so far, waiting jobs
  // end without having begun, and the thread ends.
  void cancel() noexcept;
  // What runs or is prepared right now, for a watchdog; of several the one that began first.
  std::optional<Running> running() const;
  // Ends the process of a candidate that was found hanging; the job goes on with that candidate's trial timed out.
  // False when it is not isolated, or has come back meanwhile.
  bool interrupt(const Running& hanging) noexcept;
  // True when all threads have ended within `timeout` after cancel().
  bool wait(std::chrono::nanoseconds timeout);
  // Leaves the threads alone for good: they keep what they use alive, and neither journal nor completions are called
  // any more when this returns (it waits for such a call in progress, unless it is itself made from one). The
  // destructor does not wait for the threads, which end as soon as their candidates come back.
  void abandon() noexcept;

  std::chrono::nanoseconds busy() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hone::workers
