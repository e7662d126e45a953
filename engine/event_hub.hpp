// Delivers events to subscriptions, each on its own executor.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <asio/any_io_executor.hpp>

#include <hone/event.hpp>

namespace hone {

// One subscription's end. The callback runs under one mutex and posting happens under another, so that after close()
// the callback neither runs nor will, and nothing touches its executor any more: its context may end then.
class Subscription::Channel : public std::enable_shared_from_this<Subscription::Channel> {
 public:
  Channel(asio::any_io_executor executor, std::function<void(const Event&)> callback);
  // Posts the callback to the executor; never calls it here.
  void post(std::shared_ptr<const Event> event);
  // Waits for a post in progress and, unless this is its own thread, for a running callback.
  void close() noexcept;
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

 private:
  void deliver(const Event& event) noexcept;

  std::mutex posting_;
  asio::any_io_executor executor_;  // guarded by posting_; empty after close()
  // Recursive: a callback may end its own subscription.
  std::recursive_mutex delivering_;
  std::atomic<bool> closed_{false};
  std::function<void(const Event&)> callback_;
};

namespace engine {

// Thread-safe.
class EventHub {
 public:
  // `first`, if any, is the first event that the callback hears.
  Subscription subscribe(asio::any_io_executor executor, std::function<void(const Event&)> callback,
                         const std::optional<Event>& first = {});
  void emit(Event event);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Subscription::Channel>> channels_;
};

}  // namespace engine
}  // namespace hone
