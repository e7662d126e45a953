// The engine: answers at once with the best known solution, verifies and retunes in the background.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <hone/clock.hpp>
#include <hone/device.hpp>
#include <hone/error.hpp>
#include <hone/event.hpp>
#include <hone/explanation.hpp>
#include <hone/operation.hpp>
#include <hone/policy.hpp>
#include <hone/problem.hpp>
#include <hone/solution.hpp>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace hone {

struct EngineOptions {
  // Directory of the user database, made when missing; "": nothing is stored. Variable HONE_DATABASE.
  Knob<std::string> database{std::string(), Origin::preset};
  // Read-only databases, asked in this order after the user database.
  std::vector<std::string> system_databases;
  Policy policy = Policy::serving();
  Knob<LogLevel> log_level{LogLevel::warning, Origin::preset};  // variable HONE_LOG_LEVEL
  // Jobs that may wait; when there are more, the coldest is dropped.
  std::size_t queue_capacity = 4096;
  // A candidate that has not returned by then is quarantined and its worker, or its process, replaced.
  std::chrono::nanoseconds hang_timeout = std::chrono::seconds(30);
  // What measures under Policy::isolate: a program and its arguments. It must call hone::serve_isolated (see
  // hone/isolation.hpp) with the same devices and operations before anything else; the engine puts three arguments
  // behind those given. "/proc/self/exe" is the running program itself.
  std::vector<std::string> isolation_program;
  // Bytes of address space that it can use; 0: no limit.
  std::uint64_t isolation_memory = 0;
  // How long the destructor waits for a running trial before it abandons the worker.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
  std::shared_ptr<Clock> clock;  // none: system_clock()
};

// The options with the variables applied to everything that the program did not set, and all values checked.
// Throws Error(invalid_option) naming the variable or option and the accepted values, also for an unknown HONE_
// variable, and for a policy that isolates without an isolation_program.
EngineOptions resolve(EngineOptions options, const Variables& variables);

// Every knob, as `hone config` prints it: the policy's in the order of the struct, then the database and the log level.
std::vector<KnobDescription> describe(const EngineOptions& options);

struct Statistics {
  std::uint64_t problems = 0;         // seen by this engine
  std::uint64_t verified = 0;         // verifications that came to a verdict
  std::uint64_t tuned = 0;            // tuning jobs that ended
  std::uint64_t upgrades = 0;         // published replacements
  std::uint64_t offered = 0;          // upgrades offered to the program
  std::uint64_t rolled_back = 0;      // upgrades undone
  std::uint64_t prepared = 0;         // stored candidates that were compiled and published
  std::uint64_t trials = 0;           // candidates evaluated
  std::uint64_t quarantined = 0;      // candidates quarantined
  std::uint64_t queued = 0;           // jobs waiting
  std::uint64_t running = 0;          // jobs in flight
  std::uint64_t dropped = 0;          // jobs left undone: the queue was full, or they could not pay
  std::uint64_t failed = 0;           // jobs that ended without a result
  std::uint64_t skipped_records = 0;  // stored candidates that failed validation
  std::chrono::nanoseconds busy{0};   // worker time spent measuring and preparing
  bool store_degraded = false;
};

// How far a running tuning job is.
struct Progress {
  std::string problem;  // canonical text
  std::string device;
  std::uint64_t evaluations = 0;  // so far
  Candidate best;                 // so far, by its first timing; empty before the first that works
  Timing best_timing;
  std::chrono::nanoseconds elapsed{0};  // since the job began, by the engine's clock
};

// All members are thread-safe. `find`, `report`, `pause`, `resume` and `statistics` may be called from callbacks.
class Engine {
 public:
  // Opens the databases and starts the background. Throws Error for a bad option or variable; trouble with a database
  // is an event and not an error.
  explicit Engine(EngineOptions options = {});
  // Stops the background: waits at most shutdown_timeout for a running trial, completes every waiting async_settle with
  // Errc::shut_down, and stores what is finished. May be called on a thread of a callback's executor.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Throws Error(invalid_operation) when the name is taken or the operation is incomplete.
  void add(std::shared_ptr<Device> device);
  void add(std::shared_ptr<const Operation> operation);

  // The best known solution, at once. On a problem seen before: lock-free, allocation-free, tens of nanoseconds. On a
  // new one: microseconds. Never waits for a job, a flush, a compiler or a device. Bad input and problems that nothing
  // can run give an empty solution with a reason.
  template <ProblemStruct P>
  Solution find(const P& problem) noexcept {
    return find(Problem(problem));
  }
  Solution find(const Problem& problem) noexcept;
  template <ProblemStruct P>
  Solution find(const P& problem, const CallOptions& options) noexcept {
    return find(Problem(problem), options);
  }
  Solution find(const Problem& problem, const CallOptions& options) noexcept;

  // A binding reads the newest solution in a few nanoseconds. Empty where find's solution would be.
  template <ProblemStruct P>
  Binding bind(const P& problem, const CallOptions& options = {}) noexcept {
    return bind(Problem(problem), options);
  }
  Binding bind(const Problem& problem, const CallOptions& options = {}) noexcept;

  // Calls `callback` for every event from now on, posted to `executor`: never inside a call of the engine, in order
  // when the executor is a strand or has one thread. A throwing callback is logged and harms nobody.
  Subscription subscribe(asio::any_io_executor executor, std::function<void(const Event&)> callback);

  // Completes with (std::error_code, Solution) when the background has nothing left to do for the problem: no job waits
  // or runs. Errc::no_device when the problem's device was lost before. Any completion token. Cancellation (total, partial or terminal) completes with operation_aborted and
  // leaves the job alone. The handler is posted to its associated executor and called exactly once.
  template <class P, class CompletionToken>
  auto async_settle(const P& problem, CompletionToken&& token, CallOptions options = {});

  // Production evidence: the time one launch of the solution took. When the median drifts beyond the tolerance of what
  // it was at first, a verification is scheduled, never a direct replacement. Durations that are not positive, and
  // solutions that were replaced meanwhile, are ignored. Lock-free and allocation-free unless it schedules.
  void report(const Solution& solution, std::chrono::nanoseconds observed) noexcept;

  // No trial starts while paused; a running one ends first.
  void pause() noexcept;
  void resume() noexcept;
  // Waits until no job waits or runs, at most `timeout`; true when it is so. Must not be called from a callback that
  // the engine's work depends on.
  bool drain(std::chrono::nanoseconds timeout);

  Statistics statistics() const noexcept;
  // The tuning jobs that run now.
  std::vector<Progress> progress() const;
  // Why the present solution of the problem stands: provenance, evidence, last verdict, queue place. A first sight
  // counts as one. Takes as long as reading the database and a turn of the engine's thread. Throws what allocation
  // throws.
  template <ProblemStruct P>
  Explanation explain(const P& problem, const CallOptions& options = {}) {
    return explain(Problem(problem), options);
  }
  Explanation explain(const Problem& problem, const CallOptions& options = {});
  // The policy in force, and the change of it for later jobs. What was accepted and is beyond a tighter tolerance is
  // tuned; user records are verified again when revalidate_user_records is switched on. Throws Error(invalid_option).
  Policy policy() const;
  void set_policy(const Policy& policy);

 private:
  using SettleHandler = std::function<void(std::error_code, Solution)>;
  struct Implementation;

  std::uint64_t settle_ticket() noexcept;
  // Calls `handler` exactly once: on the engine's thread, inside this call, or on the thread that destroys the engine.
  void settle_start(std::uint64_t ticket, const Problem& problem, const CallOptions& options, SettleHandler handler);
  // The function may be called at any time, also after the engine's end.
  std::function<void()> settle_canceller(std::uint64_t ticket);

  std::unique_ptr<Implementation> implementation_;
};

}  // namespace hone

#include <hone/async_settle.hpp>
