// A clock that moves only when it is told to.
#pragma once

#include <atomic>
#include <chrono>
#include <hone/clock.hpp>

namespace hone::workers {

// Thread-safe. Sleeping moves the clock and returns at once.
class VirtualClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const noexcept override { return std::chrono::nanoseconds(now_.load()); }
  std::chrono::sys_seconds date() const noexcept override {
    return std::chrono::sys_seconds(std::chrono::duration_cast<std::chrono::seconds>(now()));
  }
  void sleep(std::chrono::nanoseconds duration, std::stop_token stop) override {
    if (!stop.stop_requested()) advance(duration);
  }
  void advance(std::chrono::nanoseconds duration) noexcept { now_ += duration.count(); }

 private:
  std::atomic<std::chrono::nanoseconds::rep> now_{0};
};

}  // namespace hone::workers
