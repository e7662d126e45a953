// Threads that prepare candidates ahead of their turn, while the worker's own thread measures.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <hone/solver.hpp>
#include <hone/trial.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hone::workers {

// What came of preparing a candidate.
struct Preparation {
  std::shared_ptr<const Invoker> invoker = {};       // null: it failed
  std::string reason = {};                           // of a failure
  TrialStatus status = TrialStatus::prepare_failed;  // of a failure
  std::exception_ptr error = {};                     // no failure of the candidate: it ends the job
  CodeFacts facts = {};                              // of its code, also of rejected code
};

// Thread-safe. Preparations begin in the order of submission; what has begun is never interrupted. Whatever the device,
// preparing is work for the processor: the threads have background priority.
class CompileThreads {
 public:
  // One that was submitted.
  struct Order;
  using Function = std::function<Preparation()>;  // must not throw

  // The threads start with the first order.
  explicit CompileThreads(std::size_t threads);
  ~CompileThreads();
  CompileThreads(const CompileThreads&) = delete;
  CompileThreads& operator=(const CompileThreads&) = delete;

  std::shared_ptr<Order> submit(Function function);
  // What came of the order, waiting for it when it has begun. Nothing when it has not, and then it never will, or when
  // it was left alone.
  std::optional<Preparation> collect(Order& order);
  // Drops all that has not begun, and waits for the rest unless it is left alone.
  void clear();

  // Nothing begins while paused.
  void pause() noexcept;
  void resume() noexcept;
  // For good: nothing begins any more.
  void cancel() noexcept;
  // After cancel(): waits until the threads have ended or are left alone.
  void join();
  // For good: nothing begins, nobody waits any more, and threads end as soon as their preparation comes back.
  void leave() noexcept;

 private:
  struct Shared;  // outlives this where threads are left alone
  static void loop(Shared& shared);

  const std::size_t count_;
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;  // of the threads that submit and join: one and the same, or one after the other
};

}  // namespace hone::workers
