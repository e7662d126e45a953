#include "workers/compile_threads.hpp"

#include <algorithm>
#include <utility>

#include "workers/background_priority.hpp"

namespace hone::workers {

struct CompileThreads::Order {
  enum class State { waiting, begun, done, dropped };
  State state = State::waiting;  // guarded by the mutex of Shared
  Function function;             // released as soon as it is not needed any more: it may hold its owner
  Preparation result = {};
};

struct CompileThreads::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Order>> waiting;
  std::size_t begun = 0;
  std::size_t alive = 0;  // threads
  bool paused = false;
  bool cancelled = false;
  bool left = false;

  // Called with the mutex held; what it returns is to be destroyed without.
  std::vector<Function> drop_waiting() {
    std::vector<Function> functions;
    for (const auto& order : waiting) {
      order->state = Order::State::dropped;
      functions.push_back(std::move(order->function));
    }
    waiting.clear();
    return functions;
  }
};

CompileThreads::CompileThreads(std::size_t threads)
    : count_(std::max<std::size_t>(threads, 1)), shared_(std::make_shared<Shared>()) {}

CompileThreads::~CompileThreads() {
  cancel();
  join();
}

std::shared_ptr<CompileThreads::Order> CompileThreads::submit(Function function) {
  auto order = std::make_shared<Order>();
  const std::lock_guard lock(shared_->mutex);
  if (shared_->cancelled) {
    order->state = Order::State::dropped;
    return order;
  }
  if (threads_.size() < count_) {
    threads_.emplace_back([shared = shared_] { loop(*shared); });
    ++shared_->alive;
  }
  order->function = std::move(function);
  shared_->waiting.push_back(order);
  shared_->changed.notify_all();
  return order;
}

void CompileThreads::loop(Shared& shared) {
  yield_to_others();
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.cancelled || (!shared.paused && !shared.waiting.empty()); });
    if (shared.cancelled) break;
    const std::shared_ptr<Order> order = std::move(shared.waiting.front());
    shared.waiting.pop_front();
    order->state = Order::State::begun;
    ++shared.begun;
    lock.unlock();
    order->result = order->function();
    order->function = {};
    lock.lock();
    order->state = Order::State::done;
    --shared.begun;
    shared.changed.notify_all();
  }
  --shared.alive;
  shared.changed.notify_all();
}

std::optional<Preparation> CompileThreads::collect(Order& order) {
  Function dropped;
  std::unique_lock lock(shared_->mutex);
  if (order.state == Order::State::waiting) {
    const auto place = std::find_if(shared_->waiting.begin(), shared_->waiting.end(),
                                    [&](const auto& each) { return each.get() == &order; });
    shared_->waiting.erase(place);
    order.state = Order::State::dropped;
    dropped = std::move(order.function);
  }
  shared_->changed.wait(lock, [&] { return order.state != Order::State::begun || shared_->left; });
  if (order.state != Order::State::done) return {};
  return std::move(order.result);
}

void CompileThreads::clear() {
  std::vector<Function> dropped;
  std::unique_lock lock(shared_->mutex);
  dropped = shared_->drop_waiting();
  shared_->changed.wait(lock, [&] { return shared_->begun == 0 || shared_->left; });
  lock.unlock();
}

void CompileThreads::pause() noexcept {
  const std::lock_guard lock(shared_->mutex);
  shared_->paused = true;
}

void CompileThreads::resume() noexcept {
  const std::lock_guard lock(shared_->mutex);
  shared_->paused = false;
  shared_->changed.notify_all();
}

void CompileThreads::cancel() noexcept {
  std::vector<Function> dropped;
  const std::lock_guard lock(shared_->mutex);
  shared_->cancelled = true;
  dropped = shared_->drop_waiting();
  shared_->changed.notify_all();
}

void CompileThreads::join() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->alive == 0 || shared_->left; });
  const bool left = shared_->left;
  lock.unlock();
  for (std::thread& thread : threads_) {
    if (left) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  threads_.clear();
}

void CompileThreads::leave() noexcept {
  std::vector<Function> dropped;
  const std::lock_guard lock(shared_->mutex);
  shared_->cancelled = true;
  shared_->left = true;
  dropped = shared_->drop_waiting();
  shared_->changed.notify_all();
}

}  // namespace hone::workers
