// A worker: one thread with one background stream and private buffers on one device.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <hone/clock.hpp>
#include <hone/device.hpp>
#include <memory>
#include <optional>

#include "workers/job.hpp"

namespace hone::workers {

// What a worker tells while it works. Called on the worker's thread.
class Journal {
 public:
  virtual ~Journal() = default;
  // Before a candidate's first run in this process, and after it came back.
  virtual void begin_attempt(const Problem& problem, const Candidate& candidate) = 0;
  virtual void end_attempt(const Problem& problem, const Candidate& candidate) = 0;
};

struct WorkerOptions {
  std::uint64_t max_buffer_bytes = 1ull << 30;
  double background_share = 0.10;  // of wall time
  std::uint64_t seed = 1;          // of operand contents
};

// What a worker that does not come back was running.
struct Running {
  Problem problem;
  Candidate candidate;
  std::chrono::nanoseconds since{0};  // Clock::now() when the candidate's present preparation or run began
};

// All members are thread-safe. A job's completion is called on the worker's thread, exactly once for every accepted
// job, unless the worker was abandoned: then it is not called any more.
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

  void submit(Job job, Completion completion);

  // Between two runs of candidates the worker waits while it is paused, and rests so that its busy share of wall time
  // stays within background_share.
  void pause() noexcept;
  void resume() noexcept;
  void set_options(WorkerOptions options) noexcept;

  // The running job ends at the next opportunity with stop = cancelled; waiting jobs end without having begun.
  void cancel() noexcept;
  // What runs right now, for a watchdog.
  std::optional<Running> running() const;
  // True when the thread has ended within `timeout` after cancel().
  bool wait(std::chrono::nanoseconds timeout);
  // Leaves the thread alone for good: it keeps what it uses alive, its completions are never called, and the destructor
  // does not wait for it.
  void abandon() noexcept;

  std::chrono::nanoseconds busy() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hone::workers
