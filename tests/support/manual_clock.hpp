// A clock in virtual time for tests.
#pragma once

#include <condition_variable>
#include <hone/clock.hpp>
#include <mutex>

namespace hone::test {

// Thread-safe. Time moves only by advance() and, unless sleeping blocks, by sleep().
class ManualClock final : public Clock {
 public:
  enum class Sleep {
    advances,  // a sleeper moves time forward by itself and returns at once
    blocks,    // a sleeper waits until advance() reached its time, or until it is stopped
  };
  explicit ManualClock(Sleep sleep = Sleep::advances) : sleep_(sleep) {}

  std::chrono::nanoseconds now() const noexcept override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  std::chrono::sys_seconds date() const noexcept override {
    using namespace std::chrono_literals;
    return std::chrono::sys_days(std::chrono::year(2024) / 1 / 1) + std::chrono::floor<std::chrono::seconds>(now());
  }
  void sleep(std::chrono::nanoseconds duration, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    slept_ += duration;
    if (sleep_ == Sleep::advances) {
      if (!stop.stop_requested()) now_ += duration;
      changed_.notify_all();
      return;
    }
    const std::chrono::nanoseconds due = now_ + duration;
    ++sleepers_;
    changed_.notify_all();
    changed_.wait(lock, stop, [&] { return now_ >= due; });
    --sleepers_;
  }

  void advance(std::chrono::nanoseconds duration) {
    const std::lock_guard lock(mutex_);
    now_ += duration;
    changed_.notify_all();
  }
  // Waits until a thread sleeps; only where sleeping blocks.
  void wait_for_sleeper() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sleepers_ > 0; });
  }
  // The sum of all durations that sleep() was asked for.
  std::chrono::nanoseconds slept() const {
    const std::lock_guard lock(mutex_);
    return slept_;
  }

 private:
  const Sleep sleep_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::chrono::nanoseconds now_{1};
  std::chrono::nanoseconds slept_{0};
  int sleepers_ = 0;
};

}  // namespace hone::test
