// Intake, dispatch and time; outcomes are in scheduler_outcomes.cpp.
#include "engine/scheduler.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <asio/post.hpp>

#include "engine/advice.hpp"
#include "engine/attempt_journal.hpp"
#include "engine/log.hpp"

namespace hone::engine {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr auto tick_period = std::chrono::milliseconds(100);
constexpr auto claim_duration = std::chrono::minutes(2);
constexpr auto claim_renewal = seconds(30);
constexpr auto claim_retry = seconds(1);

}  // namespace

struct Scheduler::DeviceWorker {
  std::shared_ptr<Device> device;
  std::shared_ptr<AttemptJournal> journal;
  // Outlives the worker: one that replaces it knows the idle device.
  std::shared_ptr<workers::IdleTime> idle_time = std::make_shared<workers::IdleTime>();
  std::shared_ptr<workers::StreamWorker> worker;
  storage::DeviceLease lease;
  Slot* running = nullptr;
  nanoseconds claimed_at{0};
  bool lost = false;
};

Scheduler::Scheduler(asio::io_context& context, SchedulerOptions options, Index& index, storage::Library& library,
                     EventHub& events, Counters& counters)
    : strand_(asio::make_strand(context)),
      timer_(strand_),
      options_(std::move(options)),
      index_(index),
      library_(library),
      events_(events),
      counters_(counters),
      queue_(options_.queue_capacity) {
  arm_timer();
}

Scheduler::~Scheduler() = default;

// ---- Any thread -----------------------------------------------------------------------------------------------------

bool Scheduler::request(Request request) noexcept {
  try {
    {
      const std::lock_guard lock(pending_mutex_);
      ++pending_;
    }
    if (requests_.enqueue(std::move(request))) {
      if (!draining_posted_.exchange(true)) asio::post(strand_, [this] { take_requests(); });
      return true;
    }
    log().error("a request for background work is lost: no memory");
  } catch (const std::exception& error) {
    log().error("a request for background work is lost: {}", error.what());
  }
  release_pending();
  return false;
}

void Scheduler::release_pending() noexcept {
  const std::lock_guard lock(pending_mutex_);
  if (--pending_ == 0) idle_.notify_all();
}

bool Scheduler::drain(nanoseconds timeout) {
  std::unique_lock lock(pending_mutex_);
  return idle_.wait_for(lock, timeout, [this] { return pending_ == 0; });
}

void Scheduler::add_device(std::shared_ptr<Device> device, const Policy& policy) {
  auto added = std::make_unique<DeviceWorker>();
  added->device = std::move(device);
  added->journal = std::make_shared<AttemptJournal>(library_, *options_.clock);
  added->worker = make_worker(*added, policy);
  {
    const std::lock_guard lock(workers_mutex_);
    device_workers_.push_back(std::move(added));
  }
  set_policy(policy);
}

std::shared_ptr<workers::StreamWorker> Scheduler::make_worker(const DeviceWorker& on, const Policy& policy) const {
  workers::WorkerOptions options = worker_options(policy);
  options.idle_time = on.idle_time;
  return std::make_shared<workers::StreamWorker>(on.device, options_.clock, on.journal, std::move(options));
}

workers::WorkerOptions Scheduler::worker_options(const Policy& policy) const {
  workers::WorkerOptions options{.max_buffer_bytes = policy.max_buffer_bytes,
                                 .background_share = policy.background_share,
                                 .cold_cache = cold_cache(policy)};
  if (policy.isolate) options.isolation = options_.isolation;
  return options;
}

void Scheduler::set_policy(const Policy& policy) {
  const std::lock_guard lock(workers_mutex_);
  for (const auto& on : device_workers_) on->worker->set_options(worker_options(policy));
  // The strand takes the newest: a program that changes its mind faster than the strand turns must not fill memory.
  if (!next_policy_) asio::post(strand_, [this] { take_policy(); });
  next_policy_ = policy;
}

void Scheduler::take_policy() {
  Policy before;
  {
    const std::lock_guard lock(workers_mutex_);
    before = std::exchange(policy_, *std::exchange(next_policy_, std::nullopt));
  }
  requeue_unaccepted(before);
}

void Scheduler::verify_again(Slot& slot, std::optional<Candidate> predecessor) noexcept {
  try {
    asio::post(strand_, [this, &slot, predecessor = std::move(predecessor)] {
      request_again(slot, Task::verify, true, predecessor);
    });
  } catch (const std::exception& error) {
    log().warn("a verification could not be asked for: {}", error.what());
  }
}

void Scheduler::request_again(Slot& slot, Task task, bool drifted, std::optional<Candidate> predecessor) {
  if (assignment_of(slot) != nullptr) return;
  Resolution resolution = resolve(*slot.site, slot.problem, library_, Records::use);
  if (!resolution.claim) return;
  if (predecessor) slot.current.load(std::memory_order_acquire)->doubted = true;
  request({.slot = &slot,
           .work = {.task = task, .search_parameters = policy_.tune_parameters},
           .policy = policy_,
           .claim = std::move(resolution.claim),
           .claim_answered = resolution.claim_answered,
           .drifted = drifted,
           .predecessor = std::move(predecessor)});
}

void Scheduler::requeue_unaccepted(const Policy& before) {
  const bool verifies = plan(Provenance::system, policy_).task == Task::verify;
  const bool revalidate = policy_.revalidate_user_records && !before.revalidate_user_records;
  if (!verifies || (!revalidate && policy_.tolerance >= before.tolerance)) return;
  std::vector<std::pair<Slot*, Task>> again;
  index_.for_each([&](Slot& slot) {
    const auto conclusion = conclusions_.find(&slot);
    const bool too_slow = conclusion != conclusions_.end() && conclusion->second.verdict == Verdict::accept &&
                          conclusion->second.ratio > 1 + policy_.tolerance;
    const Answer* answer = slot.current.load(std::memory_order_acquire);
    // What was claimed of it is known to be out of reach as it stands: measuring it once more would tell nothing new.
    if (too_slow) {
      again.emplace_back(&slot, Task::tune);
    } else if (revalidate && answer->provenance == Provenance::user) {
      again.emplace_back(&slot, Task::verify);
    }
  });
  for (const auto& [slot, task] : again) request_again(*slot, task, false, {});
}

void Scheduler::pause() noexcept {
  const std::lock_guard lock(workers_mutex_);
  paused_ = true;
  for (const auto& on : device_workers_) on->worker->pause();
}

void Scheduler::resume() noexcept {
  const std::lock_guard lock(workers_mutex_);
  paused_ = false;
  for (const auto& on : device_workers_) on->worker->resume();
}

nanoseconds Scheduler::busy() const {
  const std::lock_guard lock(workers_mutex_);
  nanoseconds sum = busy_of_abandoned_;
  for (const auto& on : device_workers_) sum += on->worker->busy();
  return sum;
}

std::vector<Progress> Scheduler::progress() const {
  const std::lock_guard lock(workers_mutex_);
  std::vector<Progress> all;
  for (const auto& on : device_workers_) {
    if (auto progress = on->journal->progress()) all.push_back(*std::move(progress));
  }
  return all;
}

void Scheduler::settle(std::uint64_t ticket, Slot& slot, SettleHandler handler) {
  asio::post(strand_, [this, ticket, &slot, handler = std::move(handler)] {
    take_requests();
    Assignment* assignment = assignment_of(slot);
    if (assignment == nullptr) {
      // A request that came while the engine ends, or for a device that is lost, got no assignment.
      return handler(stopping()                    ? make_error_code(Errc::shut_down)
                     : is_lost(*slot.site->device) ? make_error_code(Errc::no_device)
                                                   : std::error_code(),
                     slot.current.load(std::memory_order_acquire));
    }
    assignment->asked = true;
    assignment->waiters.emplace_back(ticket, handler);
  });
}

void Scheduler::cancel_settle(std::uint64_t ticket) {
  asio::post(strand_, [this, ticket] {
    for (auto& [slot, assignment] : assignments_) {
      const auto waiter = std::find_if(assignment.waiters.begin(), assignment.waiters.end(),
                                       [ticket](const auto& each) { return each.first == ticket; });
      if (waiter == assignment.waiters.end()) continue;
      const SettleHandler handler = std::move(waiter->second);
      assignment.waiters.erase(waiter);
      return handler(asio::error::operation_aborted, slot->current.load(std::memory_order_acquire));
    }
  });
}

void Scheduler::stop(nanoseconds timeout) {
  std::vector<std::shared_ptr<workers::StreamWorker>> workers;
  {
    const std::lock_guard lock(workers_mutex_);
    stopping_ = true;
    for (const auto& on : device_workers_) workers.push_back(on->worker);
  }
  for (const auto& worker : workers) {
    worker->cancel();
    worker->resume();
  }
  // A real deadline, whatever the engine's clock: the caller's destructor is waiting.
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (const auto& worker : workers) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (worker->wait(std::max<nanoseconds>(left, nanoseconds::zero()))) continue;
    log().warn("a worker does not come back and is abandoned");
    worker->abandon();
  }
  asio::post(strand_, [this] { timer_.cancel(); });
}

void Scheduler::complete_all() {
  for (auto& [slot, assignment] : assignments_) {
    for (const auto& [ticket, handler] : assignment.waiters) {
      handler(Errc::shut_down, slot->current.load(std::memory_order_acquire));
    }
  }
  assignments_.clear();
}

// ---- Intake ---------------------------------------------------------------------------------------------------------

void Scheduler::take_requests() {
  draining_posted_.store(false);
  Request request;
  while (requests_.try_dequeue(request)) enlist(std::move(request));
  dispatch();
}

void Scheduler::enlist(Request request) {
  Slot& slot = *request.slot;
  if (request.work.forget_records) {
    library_.submit({storage::Forget{slot.problem.key(), slot.site->environment_id}});
  }
  const bool prepare = request.claim && !request.claim_answered;
  if (assignments_.contains(&slot) || stopping() || (request.work.task == Task::none && !prepare)) {
    release_pending();
    return;
  }
  Assignment assignment;
  assignment.step = request.work.task == Task::none     ? Step::prepare
                    : request.work.task == Task::verify ? Step::verify
                                                        : Step::tune;
  assignment.request = std::move(request);
  assignments_.emplace(&slot, std::move(assignment));
  enqueue(slot);
}

void Scheduler::enqueue(Slot& slot) {
  assignment_of(slot)->state = State::queued;
  Slot* dropped = queue_.push(slot, [this](const Slot& each) { return priority_of(each); });
  counters_.queued.store(queue_.size(), std::memory_order_relaxed);
  if (dropped == nullptr) return;
  leave(*dropped, fmt::format("more than {} problems wait; this one promised least", options_.queue_capacity));
}

void Scheduler::finish(Slot& slot, std::error_code error) {
  auto node = assignments_.extract(&slot);
  const Assignment& assignment = node.mapped();
  if (assignment.claimed) library_.release(slot.problem.key(), slot.site->environment_id);
  const Answer* answer = slot.current.load(std::memory_order_acquire);
  for (const auto& [ticket, handler] : assignment.waiters) handler(error, answer);
  release_pending();
}

// ---- Dispatch -------------------------------------------------------------------------------------------------------

void Scheduler::dispatch() {
  if (stopping()) return;
  const auto priority = [this](const Slot& each) { return priority_of(each); };
  for (DeviceWorker* on : device_workers()) {
    const auto eligible = [on](const Slot& each) { return each.site->device == on->device; };
    while (on->lost) {
      Slot* slot = queue_.pop(priority, eligible);
      if (slot == nullptr) break;
      finish(*slot, Errc::no_device);
    }
    while (on->running == nullptr && !on->lost) {
      if (!on->lease && queue_.size() > 0) on->lease = library_.lease_device(on->device->name());
      Slot* slot = on->lease ? queue_.pop(priority, eligible) : nullptr;
      if (slot == nullptr) break;
      start(*on, *slot);
    }
    // Between jobs another process may have the device.
    if (on->running == nullptr) on->lease = {};
  }
  counters_.queued.store(queue_.size(), std::memory_order_relaxed);
}

void Scheduler::start(DeviceWorker& on, Slot& slot) {
  Assignment& assignment = *assignment_of(slot);
  // Another process may have measured it while this one waited for its turn.
  const bool known_here = assignment.request.claim && assignment.request.claim->known == Provenance::user;
  if (!known_here && !assignment.recorded) {
    assignment.state = State::waiting;
    if (adopt_foreign_record(slot)) return;
  }
  const Task task = task_of(assignment);
  const Expectation expectation = expectation_of(assignment);
  if (!pays(task, expectation, assignment.request.policy)) {
    return leave(slot, fmt::format("it would cost about {:.1f} ms and save {:.3g} ms a day",
                                   std::chrono::duration<double, std::milli>(
                                       expected_cost(task, expectation, assignment.request.policy))
                                       .count(),
                                   expected_saving(expectation) * 86'400 * 1e3));
  }
  left_.erase(&slot);
  std::optional<workers::Job> job;
  try {
    ask_heuristic(assignment);
    job.emplace(make_job(assignment));
  } catch (const std::exception& error) {  // of a user's solver
    return fail(slot, Errc::not_applicable, error.what());
  }
  const nanoseconds now = options_.clock->now();
  if (assignment.step != Step::prepare) {
    if (!library_.claim(slot.problem.key(), slot.site->environment_id, claim_duration)) {
      // Another process works on it; its result arrives as a foreign change.
      assignment.state = State::waiting;
      assignment.due = now + claim_retry;
      return;
    }
    assignment.claimed = true;
    on.claimed_at = now;
  }
  assignment.state = State::running;
  assignment.run = next_run_++;
  on.running = &slot;
  on.journal->begin_job(slot);
  count(counters_.running);
  if (const auto* verification = std::get_if<workers::VerifyJob>(&*job)) assignment.verification = *verification;
  on.worker->submit(*std::move(job), [this, &slot, run = assignment.run](workers::Outcome outcome) {
    asio::post(strand_, [this, &slot, run, outcome = std::move(outcome)] { on_outcome(slot, run, outcome); });
  });
}

// Where nothing is known, a heuristic that takes too long for the foreground is asked now.
void Scheduler::ask_heuristic(Assignment& assignment) const {
  Request& request = assignment.request;
  const Slot& slot = *request.slot;
  const auto heuristic = slot.site->operation->heuristic();
  if (request.claim || assignment.step != Step::tune || !heuristic || heuristic->immediate()) return;
  request.claim = claim_of(advise(*heuristic, *slot.site, slot.problem, make_subject(assignment).quarantined),
                           incumbent_of(assignment));
  if (request.claim && verifies(request.policy) && request.policy.enforce == Enforce::none)
    assignment.step = Step::verify;
}

void Scheduler::release_worker(DeviceWorker& on, const Slot& slot) noexcept {
  if (on.running != &slot) return;
  on.running = nullptr;
  on.journal->end_job();
}

Expectation Scheduler::expectation_of(const Assignment& assignment) const {
  const Slot& slot = *assignment.request.slot;
  const Answer* answer = slot.current.load(std::memory_order_acquire);
  return {.finds = slot.demand.load(std::memory_order_relaxed) + 1,
          .span = options_.clock->now() - nanoseconds(slot.counted_since.load(std::memory_order_relaxed)),
          .time = answer->timing.median,
          .known = assignment.request.claim ? assignment.request.claim->known : Provenance::fallback,
          .drifted = assignment.request.drifted,
          .asked = assignment.asked,
          .bound = slot.bound.load(std::memory_order_relaxed)};
}

double Scheduler::priority_of(const Slot& slot) const { return priority(expectation_of(assignments_.at(&slot))); }

Task Scheduler::task_of(const Assignment& assignment) noexcept {
  return assignment.step == Step::verify ? Task::verify : assignment.step == Step::tune ? Task::tune : Task::none;
}

void Scheduler::leave(Slot& slot, const std::string& cause) {
  const nanoseconds now = options_.clock->now();
  const Recount next = recount(slot.demand.load(std::memory_order_relaxed),
                               now - nanoseconds(slot.counted_since.load(std::memory_order_relaxed)));
  if (next.anew) {
    slot.demand.store(0, std::memory_order_relaxed);
    slot.counted_since.store(now.count(), std::memory_order_relaxed);
  }
  slot.ask_again_at.store(next.ask_again_at, std::memory_order_relaxed);
  slot.dropped.store(true, std::memory_order_release);
  count(counters_.dropped);
  // Once is enough: it is asked for again and again while it is found.
  if (left_.insert(&slot).second) {
    Event dropped = event(EventKind::job_dropped, slot);
    dropped.cause = cause;
    events_.emit(std::move(dropped));
  }
  finish(slot);
}

bool Scheduler::is_lost(const Device& device) const {
  for (const DeviceWorker* on : device_workers()) {
    if (on->device.get() == &device) return on->lost;
  }
  return false;
}

void Scheduler::lose_device(const Device& device, const std::string& cause) {
  for (DeviceWorker* on : device_workers()) {
    if (on->device.get() != &device || std::exchange(on->lost, true)) continue;
    on->lease = {};
    Event lost;
    lost.kind = EventKind::device_lost;
    lost.device = device.name();
    lost.error = Errc::no_device;
    lost.cause = cause;
    lost.remedy = "what answers stays; restart the program when the device works again";
    log().error("device {} is lost: {}", lost.device, cause);
    events_.emit(std::move(lost));
  }
}

// ---- Time -----------------------------------------------------------------------------------------------------------

void Scheduler::arm_timer() {
  timer_.expires_after(tick_period);
  timer_.async_wait([this](std::error_code error) {
    if (error || stopping()) return;
    tick();
    arm_timer();
  });
}

void Scheduler::tick() {
  for (DeviceWorker* on : device_workers()) watch(*on);
  adopt_foreign_changes();
  for (const storage::Damage& damage : library_.damage()) {
    Event damaged;
    damaged.kind = EventKind::store_damaged;
    damaged.error = Errc::store_damaged;
    damaged.cause = fmt::format("{}: {}", damage.where, damage.what);
    damaged.remedy = "run hone db check, then hone db repair";
    log().error("a stored value is damaged: {}", damaged.cause);
    events_.emit(std::move(damaged));
  }
  const nanoseconds now = options_.clock->now();
  std::vector<Slot*> due;
  for (auto& [slot, assignment] : assignments_) {
    if (assignment.state == State::waiting && assignment.due <= now) due.push_back(assignment.request.slot);
  }
  for (Slot* slot : due) {
    // A push may have dropped it meanwhile.
    if (assignment_of(*slot) != nullptr) enqueue(*slot);
  }
  dispatch();
}

void Scheduler::watch(DeviceWorker& on) {
  if (on.running == nullptr) return;
  const nanoseconds now = options_.clock->now();
  Slot& slot = *on.running;
  Assignment& assignment = *assignment_of(slot);
  if (assignment.claimed && now - on.claimed_at > claim_renewal) {
    library_.claim(slot.problem.key(), slot.site->environment_id, claim_duration);
    on.claimed_at = now;
  }
  const auto running = on.worker->running();
  if (!running || now - running->since <= options_.hang_timeout) return;
  // Where ending its process does not bring it back it hangs in this one.
  if (now - running->since <= 2 * options_.hang_timeout && on.worker->interrupt(*running)) return;

  on.worker->abandon();
  try {
    auto next = make_worker(on, policy_);
    const std::lock_guard lock(workers_mutex_);
    busy_of_abandoned_ += on.worker->busy();
    on.worker = std::move(next);
    if (paused_) on.worker->pause();
  } catch (const std::exception& error) {
    lose_device(*on.device, error.what());
  }
  on.running = nullptr;
  counters_.running.fetch_sub(1, std::memory_order_relaxed);
  assignment.run = 0;
  std::vector<storage::Change> changes;
  quarantine(slot, assignment, running->candidate,
             fmt::format("it did not come back within {} ms", options_.hang_timeout / std::chrono::milliseconds(1)),
             changes);
  library_.submit(std::move(changes));
  if (assignment.step != Step::tune && assignment.request.claim->best.candidate == running->candidate) {
    assignment.step = Step::tune;
  }
  enqueue(slot);
}

void Scheduler::adopt_foreign_changes() {
  const storage::ForeignChanges changes = library_.foreign_changes();
  if (!changes.everything && changes.keys.empty()) return;
  std::vector<Slot*> touched;
  index_.for_each([&](Slot& slot) {
    const bool named = std::find(changes.keys.begin(), changes.keys.end(), slot.problem.key()) != changes.keys.end();
    if (changes.everything || named) touched.push_back(&slot);
  });
  for (Slot* slot : touched) adopt_foreign_record(*slot);
}

// Under Policy::adopt == ask it is offered, and what was known stays the answer until then.
bool Scheduler::adopt_foreign_record(Slot& slot) {
  Assignment* assignment = assignment_of(slot);
  // What is queued or runs here ends with a measurement of its own.
  if (assignment != nullptr && assignment->state != State::waiting) return false;
  Resolution resolution = resolve(*slot.site, slot.problem, library_, Records::use);
  if (!resolution.claim || resolution.claim->known != Provenance::user) return false;
  const Answer* current = slot.current.load(std::memory_order_acquire);
  const bool known = current->invoker && current->candidate == resolution.claim->best.candidate;
  if (known && current->provenance == Provenance::user && assignment == nullptr) return false;
  if (!resolution.claim_answered) {
    if (assignment == nullptr) return request({.slot = &slot, .policy = policy_, .claim = std::move(resolution.claim)});
    assignment->request.claim = std::move(resolution.claim);
    assignment->step = Step::prepare;
    enqueue(slot);
    return true;
  }
  Answer& answer = *resolution.answer;
  Upgrade upgrade{.kind = EventKind::upgraded,
                  .winner = {{answer.candidate, answer.invoker, answer.workspace}, answer.timing},
                  .provenance = answer.provenance,
                  .cause = "another process measured it"};
  if (needs_consent(slot, upgrade, policy_)) {
    offer(slot, std::move(upgrade));
  } else {
    publish(slot, upgrade);
  }
  if (assignment != nullptr) finish(slot);
  return true;
}

// ---- Small things ---------------------------------------------------------------------------------------------------

bool Scheduler::stopping() const {
  const std::lock_guard lock(workers_mutex_);
  return stopping_;
}

std::vector<Scheduler::DeviceWorker*> Scheduler::device_workers() const {
  const std::lock_guard lock(workers_mutex_);
  std::vector<DeviceWorker*> all;
  for (const auto& on : device_workers_) all.push_back(on.get());
  return all;
}

Scheduler::Assignment* Scheduler::assignment_of(const Slot& slot) {
  const auto place = assignments_.find(&slot);
  return place == assignments_.end() ? nullptr : &place->second;
}

Event Scheduler::event(EventKind kind, const Slot& slot) const {
  Event event;
  event.kind = kind;
  event.problem = slot.problem.text();
  event.key = slot.problem.key();
  event.device = slot.site->device->name();
  const Answer* answer = slot.current.load(std::memory_order_acquire);
  event.before = answer->candidate;
  event.before_timing = answer->timing;
  return event;
}

}  // namespace hone::engine
