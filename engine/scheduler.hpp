// The scheduler: decides which problem is worked on, and turns what workers measured into records, upgrades and events.
//
// All of its state belongs to one Asio strand. `request` may be called from any thread and never waits: requests pass
// through a lock-free queue. A problem has at most one assignment (single flight), whatever is asked of it; an upgrade
// is durable before it is published, and published before its event is emitted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <concurrentqueue/concurrentqueue.h>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>

#include <hone/clock.hpp>
#include <hone/engine.hpp>
#include <hone/error.hpp>
#include <hone/event.hpp>
#include <hone/policy.hpp>

#include "engine/bookkeeping.hpp"
#include "engine/counters.hpp"
#include "engine/event_hub.hpp"
#include "engine/expectation.hpp"
#include "engine/index.hpp"
#include "engine/job_queue.hpp"
#include "engine/plan.hpp"
#include "engine/resolver.hpp"
#include "storage/library.hpp"
#include "workers/stream_worker.hpp"

namespace hone::engine {

class Scheduler;

// Lets what comes after the engine's end, an answer to an offer or a cancellation, do nothing.
struct Gate {
  std::mutex mutex;
  Scheduler* scheduler = nullptr;
};

struct SchedulerOptions {
  std::size_t queue_capacity = 4096;
  std::chrono::nanoseconds hang_timeout{};
  workers::IsolationOptions isolation = {};  // for policies that isolate
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Gate> gate;
};

// What is asked for at a problem's first sight, or later.
struct Request {
  Slot* slot = nullptr;
  Work work;
  Policy policy;
  std::optional<Claim> claim = {};
  bool claim_answered = false;
  bool drifted = false;                       // production says that the answer is slower than it was
  std::optional<Candidate> predecessor = {};  // production says that the answer is slower than this, which it replaced
};

class Scheduler {
 public:
  using Strand = asio::strand<asio::io_context::executor_type>;
  using SettleHandler = std::function<void(std::error_code, const Answer*)>;

  Scheduler(asio::io_context& context, SchedulerOptions options, Index& index, storage::Library& library,
            EventHub& events, Counters& counters);
  ~Scheduler();

  // Any thread ------------------------------------------------------------------------------------------------------
  // Never waits; false when the request queue has no memory left.
  bool request(Request request) noexcept;
  // Production says that the answer has become slower, or is slower than its `predecessor`: verifies it, against the
  // predecessor first, unless the background works on the problem anyway.
  void verify_again(Slot& slot, std::optional<Candidate> predecessor) noexcept;
  // The program's answer to an offer; ignored unless it is the slot's present one.
  void answer_offer(Slot& slot, std::uint64_t offer, bool adopted);
  // Adds what the background does with the problem, its last verdict in this process, and what is offered. Waits for
  // the strand: not to be called on it.
  void explain(const Slot& slot, Explanation& explanation);
  void add_device(std::shared_ptr<Device> device, const Policy& policy);
  // Later jobs follow the new policy; what it no longer accepts is tuned.
  void set_policy(const Policy& policy);
  void pause() noexcept;
  void resume() noexcept;
  // Calls the handler on the strand when the slot has no assignment.
  void settle(std::uint64_t ticket, Slot& slot, SettleHandler handler);
  void cancel_settle(std::uint64_t ticket);
  // True when nothing waits or runs within `timeout`.
  bool drain(std::chrono::nanoseconds timeout);
  std::chrono::nanoseconds busy() const;
  std::vector<Progress> progress() const;
  // Ends the workers: waits for running candidates at most `timeout`, abandons those that do not come back.
  void stop(std::chrono::nanoseconds timeout);
  // After stop(), when the context has run dry: completes what still waits with Errc::shut_down.
  void complete_all();

  Strand& strand() noexcept { return strand_; }

 private:
  enum class Step : std::uint8_t { prepare, verify, tune };
  enum class State : std::uint8_t { queued, running, storing, waiting };

  // What the background does for one problem.
  struct Assignment {
    Request request;
    Step step = Step::tune;
    State state = State::queued;
    bool asked = false;
    bool claimed = false;   // this process has the lease on tuning it
    bool recorded = false;  // what is known so far is stored: a user record that is there is not another process's
    unsigned retries = 0;
    std::uint64_t run = 0;  // tells outcomes of an abandoned worker from those of its successor
    std::chrono::nanoseconds due{0};
    std::vector<std::pair<std::uint64_t, SettleHandler>> waiters;
    std::optional<workers::VerifyJob> verification;  // as it was given to the worker
    std::vector<Candidate> excluded;                 // quarantined while the assignment runs
  };

  // What is to take the place of a slot's answer.
  struct Upgrade {
    EventKind kind = EventKind::upgraded;
    Winner winner;
    Provenance provenance = Provenance::user;
    std::string cause = {};
    std::optional<storage::Record> record = {};  // to be durable first; none: it is stored already
    std::optional<storage::Record> kept = {};    // to be stored when the program declines
  };
  struct PendingOffer {
    std::uint64_t number = 0;
    Upgrade upgrade;
  };

  struct DeviceWorker;

  // Intake
  void take_requests();
  void enlist(Request request);
  void enqueue(Slot& slot);
  void finish(Slot& slot, std::error_code error = {});

  // Dispatch
  void dispatch();
  void start(DeviceWorker& on, Slot& slot);
  static void release_worker(DeviceWorker& on, const Slot& slot) noexcept;
  void ask_heuristic(Assignment& assignment) const;
  workers::Job make_job(const Assignment& assignment) const;
  workers::Subject make_subject(const Assignment& assignment) const;
  std::vector<workers::Trial> past_trials(const Slot& slot, bool cold_cache) const;
  Candidate incumbent_of(const Assignment& assignment) const;
  std::vector<Candidate> others_of(const Assignment& assignment) const;
  std::shared_ptr<workers::StreamWorker> make_worker(const DeviceWorker& on, const Policy& policy) const;
  workers::WorkerOptions worker_options(const Policy& policy) const;
  Expectation expectation_of(const Assignment& assignment) const;
  double priority_of(const Slot& slot) const;
  static Task task_of(const Assignment& assignment) noexcept;
  void leave(Slot& slot, const std::string& cause);
  // Gives it no more jobs, and says so once.
  void lose_device(const Device& device, const std::string& cause);
  bool is_lost(const Device& device) const;
  void explain_on_strand(const Slot& slot, Explanation& explanation) const;

  // Outcomes
  void on_outcome(Slot& slot, std::uint64_t run, const workers::Outcome& outcome);
  void on_prepared(Slot& slot, Assignment& assignment, const workers::Outcome& outcome);
  void on_verified(Slot& slot, Assignment& assignment, const workers::Outcome& outcome);
  void on_tuned(Slot& slot, Assignment& assignment, const workers::Outcome& outcome);
  void retry_later(Slot& slot, Assignment& assignment, const std::string& cause);
  void fail(Slot& slot, std::error_code error, const std::string& cause);
  Upgrade make_upgrade(const Slot& slot, const Assignment& assignment, const Winner& best,
                       const workers::Outcome& outcome, const std::optional<Conclusion>& conclusion) const;
  // Stores the record and what else is in `changes`; when that is durable publishes the winner, or offers it where the
  // policy asks, and calls `then`.
  void adopt(Slot& slot, Upgrade upgrade, std::vector<storage::Change> changes, std::function<void()> then);
  void publish(Slot& slot, const Upgrade& upgrade);
  // Publishes; an offer that was made against the answer before is void.
  void replace_answer(Slot& slot, std::unique_ptr<Answer> answer);

  // Consent
  static bool needs_consent(const Slot& slot, const Upgrade& upgrade, const Policy& policy) noexcept;
  void offer(Slot& slot, Upgrade upgrade);
  // Stores, then publishes; calls `then` on the strand.
  void store_and_publish(Slot& slot, Upgrade upgrade, std::vector<storage::Change> changes, std::function<void()> then);
  void keep(Slot& slot, Upgrade declined);
  // Records failures, and takes a failed candidate out of service where it is the answer.
  std::vector<storage::Change> record_trials(Slot& slot, Assignment& assignment, const workers::Outcome& outcome);
  void quarantine(Slot& slot, Assignment& assignment, const Candidate& candidate, const std::string& cause,
                  std::vector<storage::Change>& changes);
  void withdraw(Slot& slot, const Assignment& assignment, const std::string& cause);

  void request_again(Slot& slot, Task task, bool drifted, std::optional<Candidate> predecessor);
  void take_policy();
  void requeue_unaccepted(const Policy& before);

  // Time
  void arm_timer();
  void tick();
  void watch(DeviceWorker& on);
  void adopt_foreign_changes();
  // True when a record that another process wrote took the place of what was known here.
  bool adopt_foreign_record(Slot& slot);

  Subject stored_subject(const Slot& slot) const;
  Event event(EventKind kind, const Slot& slot) const;
  Assignment* assignment_of(const Slot& slot);
  std::vector<DeviceWorker*> device_workers() const;
  bool stopping() const;
  void release_pending() noexcept;

  Strand strand_;
  asio::steady_timer timer_;
  const SchedulerOptions options_;
  Index& index_;
  storage::Library& library_;
  EventHub& events_;
  Counters& counters_;

  moodycamel::ConcurrentQueue<Request> requests_;
  std::atomic<bool> draining_posted_{false};

  // On the strand
  std::unordered_map<const Slot*, Assignment> assignments_;
  JobQueue queue_;
  std::unordered_map<const Slot*, Conclusion> conclusions_;  // of the last verification
  std::unordered_map<const Slot*, PendingOffer> offers_;
  std::unordered_set<const Slot*> left_;  // a job for it was left undone, and none was begun since
  std::uint64_t next_offer_ = 1;
  Policy policy_;
  std::uint64_t next_run_ = 1;

  // Under the mutex: read by other threads too.
  mutable std::mutex workers_mutex_;
  std::vector<std::unique_ptr<DeviceWorker>> device_workers_;
  std::chrono::nanoseconds busy_of_abandoned_{0};
  std::optional<Policy> next_policy_;  // not yet taken by the strand
  bool paused_ = false;
  bool stopping_ = false;

  std::mutex pending_mutex_;
  std::condition_variable idle_;
  std::uint64_t pending_ = 0;  // requests taken in but not finished
};

}  // namespace hone::engine
