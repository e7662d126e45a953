#include "workers/stream_worker.hpp"

#include <concurrentqueue/blockingconcurrentqueue.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <future>
#include <hone/error.hpp>
#include <list>
#include <mutex>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>

#include "workers/evaluation.hpp"
#include "workers/supervisor.hpp"
#include "workers/tuning.hpp"
#include "workers/verification.hpp"

namespace hone::workers {
namespace {

// Shorter rests are saved up: a sleep is not exact, and the first run after it is a cold one.
constexpr std::chrono::nanoseconds least_rest = std::chrono::milliseconds(2);

const Subject& subject_of(const Job& job) {
  return std::visit([](const auto& j) -> const Subject& { return j.subject; }, job);
}

void prepare(const PrepareJob& job, Evaluation& evaluation, Outcome& outcome) {
  Entrant* entrant = evaluation.enter(job.candidate);
  if (entrant == nullptr) return;
  if (auto prepared = evaluation.prepared(*entrant)) outcome.prepared.push_back(*std::move(prepared));
}

void run_job(const Job& job, Evaluation& evaluation, Outcome& outcome) {
  if (const auto* preparation = std::get_if<PrepareJob>(&job)) prepare(*preparation, evaluation, outcome);
  if (const auto* verification = std::get_if<VerifyJob>(&job)) verify(*verification, evaluation, outcome);
  if (const auto* tuning = std::get_if<TuneJob>(&job)) tune(*tuning, evaluation, outcome);
}

void log_error(const char* what, const char* cause) {
  const auto logger = spdlog::get("hone");
  (logger ? logger : spdlog::default_logger())->error("{}: {}", what, cause);
}

}  // namespace

// Shared by the worker object and its thread, so that an abandoned thread keeps what it uses. `mutex` guards what says
// so; members marked as the thread's belong to it alone.
struct StreamWorker::State final : Supervisor, Journal, std::enable_shared_from_this<State> {
  struct Task {
    Job job;
    Completion completion;
  };

  State(std::shared_ptr<Device> d, std::shared_ptr<Clock> c, std::shared_ptr<Journal> j, WorkerOptions o)
      : device(std::move(d)),
        clock(std::move(c)),
        journal(std::move(j)),
        ahead_limit(o.look_ahead),
        compile_threads(o.look_ahead),
        options(std::move(o)) {
    if (!options.idle_time) options.idle_time = std::make_shared<IdleTime>();
  }

  const std::shared_ptr<Device> device;
  const std::shared_ptr<Clock> clock;
  const std::shared_ptr<Journal> journal;
  const std::size_t ahead_limit;
  moodycamel::BlockingConcurrentQueue<std::unique_ptr<Task>> queue;  // null: look whether to end
  std::thread thread;                                                // the worker object's
  std::atomic<std::int64_t> total_busy{0};                           // ns
  CompileThreads compile_threads;

  mutable std::mutex mutex;
  std::condition_variable changed;
  WorkerOptions options;                 // guarded
  std::stop_source rest;                 // guarded; stopped when a rest must end
  bool paused = false;                   // guarded
  bool cancelled = false;                // guarded
  bool abandoned = false;                // guarded
  int delivering = 0;                    // guarded; calls of journal or completion in progress
  bool ended = false;                    // guarded
  bool candidate_runs = false;           // guarded
  bool forgiven = false;                 // guarded; a rest owed under a smaller share need not be taken
  std::shared_ptr<Isolation> isolation;  // guarded; changed by the thread only
  std::optional<Running> running;        // guarded; of the present job, kept between runs to save its memory
  std::list<Running> compiling;          // guarded; ahead of their turn, in the order in which they began
  std::chrono::duration<double, std::nano> owed{0};  // guarded: rest that the share still demands

  std::unique_ptr<Stream> stream;             // the thread's
  std::chrono::nanoseconds stretch_begin{0};  // the thread's: since when it has been busy
  std::chrono::nanoseconds job_busy{0};       // the thread's: in the job's earlier stretches

  bool stopping() const { return cancelled || abandoned; }

  // Supervisor.

  bool proceed() override {
    end_stretch();
    wait_while_paused();
    take_rest();
    stretch_begin = clock->now();
    const std::lock_guard lock(mutex);
    return !stopping();
  }
  void begin(const Candidate& candidate) override {
    const std::chrono::nanoseconds now = clock->now();
    const std::lock_guard lock(mutex);
    running->candidate = candidate;
    running->since = now;
    candidate_runs = true;
  }
  void end() noexcept override {
    const std::lock_guard lock(mutex);
    candidate_runs = false;
  }
  std::chrono::nanoseconds busy() const override { return job_busy + (clock->now() - stretch_begin); }

  void end_stretch() {
    const std::chrono::nanoseconds stretch = std::max(clock->now() - stretch_begin, std::chrono::nanoseconds{0});
    job_busy += stretch;
    charge(stretch);
  }
  // Any thread.
  void charge(std::chrono::nanoseconds worked) {
    total_busy.fetch_add(worked.count(), std::memory_order_relaxed);
    const std::lock_guard lock(mutex);
    owed += worked * (1 / options.background_share - 1);
  }
  void wait_while_paused() {
    const std::chrono::nanoseconds before = clock->now();
    std::unique_lock lock(mutex);
    if (!paused) return;
    changed.wait(lock, [&] { return !paused || stopping(); });
    lock.unlock();
    pay(clock->now() - before);
  }
  void take_rest() {
    for (;;) {
      std::stop_token token;
      std::chrono::nanoseconds due{0};
      {
        const std::lock_guard lock(mutex);
        if (stopping() || owed < least_rest) return;
        if (std::exchange(forgiven, false)) {
          owed = {};
          return;
        }
        token = rest.get_token();
        due = std::chrono::ceil<std::chrono::nanoseconds>(owed);
      }
      const std::chrono::nanoseconds before = clock->now();
      clock->sleep(due, token);
      pay(clock->now() - before);
      wait_while_paused();
    }
  }
  void pay(std::chrono::nanoseconds idle) {
    const std::lock_guard lock(mutex);
    owed = std::max<decltype(owed)>(owed - idle, decltype(owed){0});
  }
  // Called with the mutex held.
  void end_rest() {
    rest.request_stop();
    if (!stopping()) rest = std::stop_source();
  }

  // Supervisor, what is prepared ahead.

  // The job takes the time, but it is the other thread that works.
  template <class Function>
  auto waiting(Function function) {
    end_stretch();
    const std::chrono::nanoseconds before = clock->now();
    auto result = function();
    stretch_begin = clock->now();
    job_busy += std::max(stretch_begin - before, std::chrono::nanoseconds{0});
    return result;
  }

  std::size_t look_ahead() const override { return isolation ? 0 : ahead_limit; }
  std::shared_ptr<CompileThreads::Order> prepare_ahead(const Candidate& candidate,
                                                       CompileThreads::Function function) override {
    const Problem problem = running->problem;  // changed by this thread only
    return compile_threads.submit([state = shared_from_this(), problem, candidate, function = std::move(function)] {
      return state->compile(problem, candidate, function);
    });
  }
  std::optional<Preparation> collect(CompileThreads::Order& order) override {
    return waiting([&] { return compile_threads.collect(order); });
  }
  void end_ahead() override {
    waiting([&] {
      compile_threads.clear();
      return true;
    });
  }

  // On a thread of compile_threads.
  Preparation compile(const Problem& problem, const Candidate& candidate, const CompileThreads::Function& function) {
    const std::chrono::nanoseconds begin = clock->now();
    std::list<Running> entry;
    entry.push_back({problem, candidate, begin});
    const auto place = entry.begin();
    {
      const std::lock_guard lock(mutex);
      compiling.splice(compiling.end(), entry);
    }
    Preparation preparation;
    try {
      begin_attempt(problem, candidate);
      preparation = function();
      end_attempt(problem, candidate);
    } catch (...) {
      preparation.error = std::current_exception();  // of the journal: rethrown where the candidate is entered
    }
    {
      const std::lock_guard lock(mutex);
      compiling.erase(place);
    }
    charge(std::max(clock->now() - begin, std::chrono::nanoseconds{0}));
    return preparation;
  }

  // Journal: passes on until the worker is abandoned.

  void begin_attempt(const Problem& problem, const Candidate& candidate) override {
    deliver([&] { journal->begin_attempt(problem, candidate); });
  }
  void end_attempt(const Problem& problem, const Candidate& candidate) override {
    deliver([&] { journal->end_attempt(problem, candidate); });
  }
  void evaluated(const Problem& problem, const Trial& trial) override {
    deliver([&] { journal->evaluated(problem, trial); });
  }

  template <class Function>
  void deliver(Function function) {
    {
      const std::lock_guard lock(mutex);
      if (abandoned) return;
      ++delivering;
    }
    struct Done {
      State& state;
      ~Done() {
        const std::lock_guard lock(state.mutex);
        --state.delivering;
        state.changed.notify_all();
      }
    } done{*this};
    function();
  }

  // The thread.

  void loop() {
    std::chrono::nanoseconds idle_since = clock->now();
    while (true) {
      std::unique_ptr<Task> task;
      queue.wait_dequeue(task);
      pay(clock->now() - idle_since);
      if (task) run(*task);
      idle_since = clock->now();
      const std::lock_guard lock(mutex);
      if (stopping()) break;
    }
    // Nothing is accepted any more: what is there now is all.
    for (std::unique_ptr<Task> task; queue.try_dequeue(task);) {
      if (task) run(*task);
    }
  }

  void run(Task& task) {
    Outcome outcome;
    job_busy = {};
    stretch_begin = clock->now();
    work(task.job, outcome);
    end_stretch();
    outcome.busy = job_busy;
    deliver([&] {
      try {
        task.completion(std::move(outcome));
      } catch (const std::exception& exception) {
        log_error("a job's completion threw", exception.what());
      } catch (...) {
        log_error("a job's completion threw", "something that is no std::exception");
      }
    });
  }

  void work(const Job& job, Outcome& outcome) {
    WorkerOptions present;
    {
      const std::lock_guard lock(mutex);
      if (stopping()) return give_up(outcome);
      present = options;
      running = Running{subject_of(job).problem, {}, {}};
    }
    const auto failed = [&](std::error_code error, std::string cause) {
      outcome.error = error;
      outcome.cause = std::move(cause);
    };
    isolate(present.isolation);
    std::optional<Evaluation> place;
    if (isolation) {
      place.emplace(subject_of(job), *device, *isolation, *this, *this, present);
    } else {
      place.emplace(subject_of(job), *device, *stream, *this, *this, present);
    }
    Evaluation& evaluation = *place;
    try {
      run_job(job, evaluation, outcome);
    } catch (const std::system_error& error) {
      failed(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      failed(Errc::out_of_memory, "the host has no memory for the job");
    } catch (const std::exception& exception) {
      failed(Errc::invalid_operation, exception.what());
    } catch (...) {
      failed(Errc::invalid_operation, "the operation threw something that is no std::exception");
    }
    outcome.evaluations = evaluation.evaluations();
    outcome.trials = evaluation.take_trials();
    const std::lock_guard lock(mutex);
    candidate_runs = false;
    if (stopping() && !outcome.error) give_up(outcome);
  }

  // The process stays from job to job as long as the options are the same.
  void isolate(const std::optional<IsolationOptions>& wanted) {
    if (wanted ? isolation && isolation->options() == *wanted : !isolation) return;
    std::shared_ptr<Isolation> next = wanted ? std::make_shared<Isolation>(*wanted, device) : nullptr;
    const std::lock_guard lock(mutex);
    isolation.swap(next);
    if (isolation && stopping()) isolation->close();
  }

  static void give_up(Outcome& outcome) {
    outcome.stop = StopReason::cancelled;
    outcome.error = std::make_error_code(std::errc::operation_canceled);
    outcome.cause = "the job was cancelled";
  }
};

StreamWorker::StreamWorker(std::shared_ptr<Device> device, std::shared_ptr<Clock> clock,
                           std::shared_ptr<Journal> journal, WorkerOptions options)
    : state_(std::make_shared<State>(std::move(device), std::move(clock), std::move(journal), std::move(options))) {
  // The stream is made on the thread that uses it: some devices bind it to its maker.
  std::promise<void> made;
  std::future<void> stream_made = made.get_future();
  state_->thread = std::thread([state = state_, made = std::move(made)]() mutable {
    try {
      state->stream = state->device->make_stream(StreamPriority::background);
      made.set_value();
    } catch (...) {
      made.set_exception(std::current_exception());  // rethrown by the constructor
      return;
    }
    state->loop();
    state->compile_threads.join();
    state->stream.reset();
    state->isolate({});
    const std::lock_guard lock(state->mutex);
    state->ended = true;
    state->changed.notify_all();
  });
  try {
    stream_made.get();
  } catch (...) {
    state_->thread.join();
    throw;
  }
}

StreamWorker::~StreamWorker() {
  cancel();
  bool abandoned = false;
  {
    const std::lock_guard lock(state_->mutex);
    abandoned = state_->abandoned;
  }
  if (abandoned || state_->thread.get_id() == std::this_thread::get_id()) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

bool StreamWorker::submit(Job job, Completion completion) {
  auto task = std::make_unique<State::Task>(State::Task{std::move(job), std::move(completion)});
  const std::lock_guard lock(state_->mutex);
  return !state_->stopping() && state_->queue.enqueue(std::move(task));
}

void StreamWorker::pause() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->paused = true;
  state_->compile_threads.pause();
}

void StreamWorker::resume() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->paused = false;
  state_->compile_threads.resume();
  state_->changed.notify_all();
}

void StreamWorker::set_options(WorkerOptions options) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (options.background_share > state_->options.background_share) {
    state_->forgiven = true;
    state_->end_rest();
  }
  if (!options.idle_time) options.idle_time = std::move(state_->options.idle_time);
  state_->options = std::move(options);
}

void StreamWorker::cancel() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->cancelled) return;
  state_->cancelled = true;
  state_->compile_threads.cancel();
  state_->end_rest();
  state_->changed.notify_all();
  state_->queue.enqueue(nullptr);
}

std::optional<Running> StreamWorker::running() const {
  const std::lock_guard lock(state_->mutex);
  const bool measuring = state_->candidate_runs;
  if (!state_->compiling.empty() && (!measuring || state_->compiling.front().since < state_->running->since)) {
    return state_->compiling.front();
  }
  return measuring ? state_->running : std::nullopt;
}

bool StreamWorker::interrupt(const Running& hanging) noexcept {
  const std::lock_guard lock(state_->mutex);
  // The mutex holds the candidate where it is.
  const bool still = state_->candidate_runs && state_->running->since == hanging.since;
  return still && state_->isolation && state_->isolation->interrupt();
}

bool StreamWorker::wait(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout, [&] { return state_->ended; });
}

void StreamWorker::abandon() noexcept {
  std::unique_lock lock(state_->mutex);
  state_->abandoned = true;
  if (state_->isolation) state_->isolation->close();
  state_->compile_threads.leave();
  state_->end_rest();
  state_->changed.notify_all();
  state_->queue.enqueue(nullptr);
  if (state_->thread.get_id() == std::this_thread::get_id()) return;
  state_->changed.wait(lock, [&] { return state_->delivering == 0; });
}

std::chrono::nanoseconds StreamWorker::busy() const noexcept {
  return std::chrono::nanoseconds(state_->total_busy.load(std::memory_order_relaxed));
}

}  // namespace hone::workers
