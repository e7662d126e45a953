#include <hone/engine.hpp>

#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include <fmt/format.h>
#include <xxhash.h>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_future.hpp>

#include "engine/bookkeeping.hpp"
#include "engine/counters.hpp"
#include "engine/event_hub.hpp"
#include "engine/index.hpp"
#include "engine/isolation_check.hpp"
#include "engine/log.hpp"
#include "engine/plan.hpp"
#include "engine/resolver.hpp"
#include "engine/scheduler.hpp"
#include "engine/stored_binaries.hpp"
#include "storage/library.hpp"
#include "workers/validation.hpp"

namespace hone {

using engine::Answer;
using engine::Site;
using engine::Slot;

namespace {

// One find in 64 counts for 64: an exact count would make every caller of a problem write the same cache line. The
// generator (Knuth's MMIX constants) keeps a periodic caller from always being missed.
bool sampled() noexcept {
  thread_local std::uint64_t state = 0x9e3779b97f4a7c15;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 58 == 0;
}
constexpr std::uint64_t sample_weight = 64;

void check(const Operation& operation) {
  const auto reject = [&](const std::string& what) {
    throw Error(Errc::invalid_operation, fmt::format("operation '{}': {}", operation.problem_type().operation(), what));
  };
  for (const auto& solver : operation.solvers()) {
    if (!solver) reject("it lists a null solver");
    if (workers::find_solver(operation, solver->id()) != solver)
      reject(fmt::format("solver '{}' is listed twice", solver->id()));
  }
  if (!workers::find_solver(operation, operation.fallback())) {
    reject(fmt::format("its fallback '{}' is not among its solvers", operation.fallback()));
  }
}

}  // namespace

struct Engine::Implementation {
  explicit Implementation(EngineOptions options);
  ~Implementation();

  // The slot of the problem, made at first sight; nullptr with a refusal when the problem gets none.
  Slot* look_up(const Problem& problem, const CallOptions& options, const Answer*& refusal) noexcept;
  Slot* first_sight(const Problem& problem, const CallOptions& options, std::uint64_t salt, const Answer*& refusal);
  std::shared_ptr<const Site> site_of(const Problem& problem, std::uint64_t salt, std::string& reason) const;
  void noticed(Slot& slot) noexcept;
  void ask_again(Slot& slot) noexcept;
  void request_work(Slot& slot, engine::Resolution&& resolution, const Policy& policy);
  std::uint64_t salt_of(std::string_view device) const noexcept;
  void add_site(const std::shared_ptr<const Operation>& operation, const std::shared_ptr<Device>& device);
  void report_health(const storage::StoreHealth& health);
  Policy current_policy() const;
  void pass_strand();
  void run() noexcept;
  void set_evidence_thresholds(const Policy& of);

  const std::shared_ptr<Clock> clock;
  const std::chrono::nanoseconds shutdown_timeout;
  const bool can_isolate;
  const std::shared_ptr<engine::Index> index = std::make_shared<engine::Index>();
  const std::shared_ptr<engine::Gate> gate = std::make_shared<engine::Gate>();
  engine::Counters counters;
  engine::EventHub events;
  std::mutex health_mutex;
  std::optional<Event> degradation;  // the present one, for subscriptions that come later

  // Few writers; read at first sights only.
  mutable std::shared_mutex registry_mutex;
  Policy policy;
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::shared_ptr<const Operation>> operations;
  std::map<std::pair<const ProblemType*, std::uint64_t>, std::shared_ptr<const Site>> sites;
  // The first device's name: its problems carry no salt. Set once.
  std::atomic<const std::string*> first_device{nullptr};

  // From which ratio on production's times are evidence: to what they were at first, and to the predecessor's. Infinite
  // where the find mode verifies nothing.
  std::atomic<double> drift_threshold{std::numeric_limits<double>::infinity()};
  std::atomic<double> regret_threshold{std::numeric_limits<double>::infinity()};
  std::atomic<std::uint64_t> next_ticket{1};
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> keep_running{context.get_executor()};
  storage::Library library;
  const std::shared_ptr<engine::StoredBinaries> binaries;
  engine::Scheduler scheduler;
  std::thread thread;
};

Engine::Implementation::Implementation(EngineOptions options)
    : clock(options.clock ? options.clock : system_clock()),
      shutdown_timeout(options.shutdown_timeout),
      can_isolate(!options.isolation_program.empty()),
      policy(options.policy),
      library({.user_database = options.database,
               .system_databases = options.system_databases,
               .on_health = [this](const storage::StoreHealth& health) { report_health(health); },
               .shutdown_timeout = options.shutdown_timeout}),
      binaries(std::make_shared<engine::StoredBinaries>(library, clock)),
      scheduler(context,
                {.queue_capacity = options.queue_capacity,
                 .hang_timeout = options.hang_timeout,
                 .isolation = {options.isolation_program, options.isolation_memory},
                 .clock = clock,
                 .gate = gate},
                *index, library, events, counters),
      thread([this] { run(); }) {
  gate->scheduler = &scheduler;
  set_evidence_thresholds(policy);
}

Engine::Implementation::~Implementation() {
  {
    const std::lock_guard lock(gate->mutex);
    gate->scheduler = nullptr;
  }
  scheduler.stop(shutdown_timeout);
  // What the workers delivered passes the strand, is stored, and passes the strand again to be published.
  pass_strand();
  binaries->close();
  library.flush(shutdown_timeout);
  pass_strand();
  context.stop();
  thread.join();
  scheduler.complete_all();
}

void Engine::Implementation::set_evidence_thresholds(const Policy& of) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const bool verifies = engine::verifies(of);
  drift_threshold.store(verifies ? 1 + of.tolerance : never);
  regret_threshold.store(verifies ? 1 + of.tie_margin + engine::ObservedTimes::resolution : never);
}

void Engine::Implementation::run() noexcept {
  while (true) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      engine::log().error("the engine's thread goes on after: {}", error.what());
    }
  }
}

void Engine::Implementation::pass_strand() {
  asio::post(scheduler.strand(), asio::use_future([] {})).wait();
}

void Engine::Implementation::report_health(const storage::StoreHealth& health) {
  counters.store_degraded.store(health.degraded, std::memory_order_relaxed);
  Event event;
  event.kind = health.degraded ? EventKind::store_degraded : EventKind::store_recovered;
  event.error = health.error;
  event.cause = health.cause.empty() ? health.path : fmt::format("{}: {}", health.path, health.cause);
  event.remedy = health.remedy;
  if (health.degraded) {
    engine::log().warn("the database is degraded: {}; {}", event.cause, event.remedy);
  } else {
    engine::log().info("the database works again: {}", health.path);
  }
  const std::lock_guard lock(health_mutex);
  degradation = health.degraded ? std::optional(event) : std::nullopt;
  events.emit(std::move(event));
}

Policy Engine::Implementation::current_policy() const {
  const std::shared_lock lock(registry_mutex);
  return policy;
}

// Distinguishes the devices of one engine in the index; the first one costs nothing.
std::uint64_t Engine::Implementation::salt_of(std::string_view device) const noexcept {
  const std::string* first = first_device.load(std::memory_order_acquire);
  if (device.empty() || first == nullptr || device == *first) return 0;
  return XXH3_64bits(device.data(), device.size());
}

void Engine::Implementation::add_site(const std::shared_ptr<const Operation>& operation,
                                      const std::shared_ptr<Device>& device) {
  auto site = std::make_shared<Site>();
  site->operation = operation;
  site->device = device;
  site->environment = engine::environment_of(*device, *operation);
  site->environment_id = site->environment.id();
  sites[{&operation->problem_type(), salt_of(device->name())}] = std::move(site);
}

std::shared_ptr<const Site> Engine::Implementation::site_of(const Problem& problem, std::uint64_t salt,
                                                            std::string& reason) const {
  const std::shared_lock lock(registry_mutex);
  const auto site = sites.find({&problem.type(), salt});
  if (site != sites.end()) return site->second;
  if (devices.empty()) {
    reason = "the engine has no device; add one, for instance hone::host_device()";
  } else if (salt != 0 && sites.lower_bound({&problem.type(), 0}) != sites.end()) {
    reason = "the engine has no device of the name that the call gave";
  } else {
    reason = fmt::format("the engine has no operation '{}'; add it first", problem.operation());
  }
  return nullptr;
}

Slot* Engine::Implementation::look_up(const Problem& problem, const CallOptions& options,
                                      const Answer*& refusal) noexcept {
  const std::uint64_t salt = salt_of(options.device);
  const ProblemKey place{problem.key().high ^ salt, problem.key().low ^ salt};
  if (Slot* slot = index->find(place)) {
    if (sampled()) noticed(*slot);
    return slot;
  }
  try {
    return first_sight(problem, options, salt, refusal);
  } catch (const std::exception& error) {
    refusal = index->refusals().refuse(error.what());
    return nullptr;
  }
}

Slot* Engine::Implementation::first_sight(const Problem& problem, const CallOptions& options, std::uint64_t salt,
                                          const Answer*& refusal) {
  std::string reason;
  const auto site = site_of(problem, salt, reason);
  if (!site) {
    refusal = index->refusals().refuse(std::move(reason));
    return nullptr;
  }
  if (const auto field = problem.malformed_field()) {
    reason = fmt::format("{}: field {} has no valid value", problem.operation(), *field);
  } else if (const Refusal invalid = site->operation->validate(problem)) {
    reason = fmt::format("{}: {}", problem.operation(), *invalid);
  }
  if (!reason.empty()) {
    refusal = index->refusals().refuse(std::move(reason));
    return nullptr;
  }
  const Policy effective = resolve(engine::apply(current_policy(), options), {});
  const bool clean = effective.enforce == Enforce::db_clean;
  engine::Resolution resolution =
      engine::resolve(*site, problem, library, clean ? engine::Records::ignore : engine::Records::use);
  engine::count(counters.skipped_records, resolution.skipped);
  if (!resolution.runnable) {
    refusal = index->refusals().refuse(std::move(resolution.answer->reason));
    return nullptr;
  }
  auto made = std::make_unique<Slot>(ProblemKey{problem.key().high ^ salt, problem.key().low ^ salt}, problem, site);
  made->publish(std::move(resolution.answer));
  made->counted_since.store(clock->now().count(), std::memory_order_relaxed);
  Slot* const own = made.get();
  Slot* const slot = index->insert(std::move(made));
  // Another thread that met the problem at the same time was first: its answer and its request stand.
  if (slot == own) request_work(*slot, std::move(resolution), effective);
  return slot;
}

void Engine::Implementation::request_work(Slot& slot, engine::Resolution&& resolution, const Policy& effective) {
  // A shortlist is verified where anything is; elsewhere it is where tuning begins.
  const bool known_enough = resolution.claim && (!resolution.claim->shortlist || engine::verifies(effective));
  const Provenance known = known_enough ? resolution.claim->known : Provenance::fallback;
  const engine::Work work = engine::plan(known, effective, !resolution.claim || resolution.claim->complete);
  const bool prepare = resolution.claim && !resolution.claim_answered;
  if (work.task == engine::Task::none && !work.forget_records && !prepare) return;
  if (!scheduler.request({.slot = &slot,
                          .work = work,
                          .policy = effective,
                          .claim = std::move(resolution.claim),
                          .claim_answered = resolution.claim_answered})) {
    slot.dropped.store(true, std::memory_order_release);
  }
}

// A sampled find: counts, and asks again for work that was dropped when it has become worth asking.
void Engine::Implementation::noticed(Slot& slot) noexcept {
  const std::uint64_t demand = slot.demand.fetch_add(sample_weight, std::memory_order_relaxed) + sample_weight;
  // Acquire: what was dropped says before when to ask again.
  if (!slot.dropped.load(std::memory_order_acquire)) return;
  if (demand >= slot.ask_again_at.load(std::memory_order_relaxed)) ask_again(slot);
}

void Engine::Implementation::ask_again(Slot& slot) noexcept {
  if (!slot.dropped.exchange(false, std::memory_order_acq_rel)) return;
  try {
    request_work(slot, engine::resolve(*slot.site, slot.problem, library, engine::Records::use), current_policy());
  } catch (const std::exception& error) {
    slot.dropped.store(true, std::memory_order_release);
    engine::log().warn("background work could not be asked for again: {}", error.what());
  }
}

Engine::Engine(EngineOptions options) {
  options = resolve(std::move(options), environment_variables());
  engine::set_log_level(options.log_level);
  implementation_ = std::make_unique<Implementation>(std::move(options));
}

Engine::~Engine() = default;

void Engine::add(std::shared_ptr<Device> device) {
  if (!device) throw Error(Errc::no_device, "the device is null");
  Implementation& self = *implementation_;
  const std::unique_lock lock(self.registry_mutex);
  for (const auto& present : self.devices) {
    if (present->name() == device->name()) {
      throw Error(Errc::invalid_option, fmt::format("a device named '{}' was added before", device->name()));
    }
  }
  device->use(self.binaries);
  self.scheduler.add_device(device, self.policy);
  self.devices.push_back(device);
  if (self.devices.size() == 1) self.first_device.store(&device->name(), std::memory_order_release);
  for (const auto& operation : self.operations) self.add_site(operation, device);
}

void Engine::add(std::shared_ptr<const Operation> operation) {
  if (!operation) throw Error(Errc::invalid_operation, "the operation is null");
  check(*operation);
  Implementation& self = *implementation_;
  const std::unique_lock lock(self.registry_mutex);
  for (const auto& present : self.operations) {
    if (present->problem_type().operation() == operation->problem_type().operation()) {
      throw Error(Errc::invalid_operation,
                  fmt::format("an operation '{}' was added before", operation->problem_type().operation()));
    }
  }
  self.operations.push_back(operation);
  for (const auto& device : self.devices) self.add_site(operation, device);
}

Solution Engine::find(const Problem& problem) noexcept {
  Implementation& self = *implementation_;
  if (Slot* slot = self.index->find(problem.key())) [[likely]] {
    if (sampled()) self.noticed(*slot);
    return Solution(slot->current.load(std::memory_order_acquire));
  }
  return find(problem, CallOptions{});
}

Solution Engine::find(const Problem& problem, const CallOptions& options) noexcept {
  const Answer* refusal = nullptr;
  const Slot* slot = implementation_->look_up(problem, options, refusal);
  return Solution(slot != nullptr ? slot->current.load(std::memory_order_acquire) : refusal);
}

Binding Engine::bind(const Problem& problem, const CallOptions& options) noexcept {
  const Answer* refusal = nullptr;
  Slot* slot = implementation_->look_up(problem, options, refusal);
  if (slot == nullptr) return {};
  if (!slot->bound.exchange(true, std::memory_order_relaxed)) implementation_->ask_again(*slot);
  return Binding(implementation_->index, &slot->current);
}

Subscription Engine::subscribe(asio::any_io_executor executor, std::function<void(const Event&)> callback) {
  Implementation& self = *implementation_;
  // Under the mutex, so that a change of health is neither missed nor told twice.
  const std::lock_guard lock(self.health_mutex);
  return self.events.subscribe(std::move(executor), std::move(callback), self.degradation);
}

void Engine::report(const Solution& solution, std::chrono::nanoseconds observed) noexcept {
  if (!solution || observed <= std::chrono::nanoseconds::zero()) return;
  const Answer& answer = *solution.answer_;
  const auto window = answer.observed.add(observed);
  if (!window) return;
  Implementation& self = *implementation_;
  const double before = answer.predecessor != nullptr ? answer.predecessor->observed_median() : 0;
  const bool regretted = before > 0 && !answer.doubted.load(std::memory_order_relaxed) &&
                         window->median > before * self.regret_threshold.load(std::memory_order_relaxed);
  if (!regretted && window->drift <= self.drift_threshold.load(std::memory_order_relaxed)) return;
  // One of another engine, or replaced meanwhile: what it does now is nobody's concern.
  Slot* slot = self.index->find(answer.slot->key);
  if (slot != answer.slot || slot->current.load(std::memory_order_relaxed) != &answer) return;
  self.scheduler.verify_again(*slot, regretted ? std::optional(answer.predecessor->candidate) : std::nullopt);
}

void Engine::pause() noexcept { implementation_->scheduler.pause(); }
void Engine::resume() noexcept { implementation_->scheduler.resume(); }
bool Engine::drain(std::chrono::nanoseconds timeout) { return implementation_->scheduler.drain(timeout); }

Statistics Engine::statistics() const noexcept {
  const engine::Counters& c = implementation_->counters;
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  return {.problems = implementation_->index->size(),
          .verified = read(c.verified),
          .tuned = read(c.tuned),
          .upgrades = read(c.upgrades),
          .offered = read(c.offered),
          .rolled_back = read(c.rolled_back),
          .prepared = read(c.prepared),
          .trials = read(c.trials),
          .quarantined = read(c.quarantined),
          .queued = read(c.queued),
          .running = read(c.running),
          .dropped = read(c.dropped),
          .failed = read(c.failed),
          .skipped_records = read(c.skipped_records),
          .busy = implementation_->scheduler.busy(),
          .store_degraded = read(c.store_degraded)};
}

std::vector<Progress> Engine::progress() const { return implementation_->scheduler.progress(); }

Explanation Engine::explain(const Problem& problem, const CallOptions& options) {
  Implementation& self = *implementation_;
  Explanation explanation;
  explanation.problem = problem.text();
  const Answer* refusal = nullptr;
  Slot* slot = self.look_up(problem, options, refusal);
  if (slot == nullptr) {
    explanation.reason = refusal->reason;
    return explanation;
  }
  explanation.device = slot->site->device->name();
  const Answer& answer = *slot->current.load(std::memory_order_acquire);
  explanation.candidate = answer.candidate;
  explanation.provenance = answer.provenance;
  explanation.timing = answer.timing;
  explanation.reason = answer.reason;
  explanation.observed_median_ns = answer.observed_median();
  auto found = self.library.find(problem.key(), explanation.problem, slot->site->environment);
  if (!found) found = self.library.find_system(problem.key(), explanation.problem, slot->site->environment);
  if (found) engine::explain(*found, explanation);
  for (auto& each : self.library.quarantined(problem.key(), slot->site->environment_id)) {
    explanation.quarantined.push_back({std::move(each.candidate), std::move(each.cause)});
  }
  self.scheduler.explain(*slot, explanation);
  return explanation;
}

Policy Engine::policy() const { return implementation_->current_policy(); }

void Engine::set_policy(const Policy& policy) {
  Policy resolved = resolve(policy, environment_variables());
  engine::check_isolation(resolved, implementation_->can_isolate);
  const std::unique_lock lock(implementation_->registry_mutex);
  implementation_->scheduler.set_policy(resolved);
  implementation_->set_evidence_thresholds(resolved);
  implementation_->policy = std::move(resolved);
}

std::uint64_t Engine::settle_ticket() noexcept { return implementation_->next_ticket.fetch_add(1); }

void Engine::settle_start(std::uint64_t ticket, const Problem& problem, const CallOptions& options,
                          SettleHandler handler) {
  Implementation& self = *implementation_;
  const Answer* refusal = nullptr;
  Slot* slot = self.look_up(problem, options, refusal);
  if (slot == nullptr) return handler(Errc::no_solution, Solution(refusal));
  if (slot->dropped.load(std::memory_order_relaxed)) self.noticed(*slot);
  self.scheduler.settle(ticket, *slot, [handler = std::move(handler)](std::error_code error, const Answer* answer) {
    handler(error, Solution(answer));
  });
}

std::function<void()> Engine::settle_canceller(std::uint64_t ticket) {
  return [gate = implementation_->gate, ticket] {
    const std::lock_guard lock(gate->mutex);
    if (gate->scheduler != nullptr) gate->scheduler->cancel_settle(ticket);
  };
}

}  // namespace hone
