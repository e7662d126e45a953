// Time as the engine sees it; tests put a virtual one in its place.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

namespace hone {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic time since an arbitrary origin.
  virtual std::chrono::nanoseconds now() const noexcept = 0;
  // Calendar time, for the dates of records.
  virtual std::chrono::sys_seconds date() const noexcept = 0;
  // Returns after `duration`, or at once when `stop` is requested.
  virtual void sleep(std::chrono::nanoseconds duration, std::stop_token stop) = 0;
};

// The steady clock and the system clock of the machine.
std::shared_ptr<Clock> system_clock();

}  // namespace hone
