#include <hone/clock.hpp>

#include <condition_variable>
#include <mutex>

namespace hone {
namespace {

class SystemClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const noexcept override { return std::chrono::steady_clock::now().time_since_epoch(); }
  std::chrono::sys_seconds date() const noexcept override {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
  void sleep(std::chrono::nanoseconds duration, std::stop_token stop) override {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, duration, [] { return false; });
  }
};

}  // namespace

std::shared_ptr<Clock> system_clock() {
  static const auto clock = std::make_shared<SystemClock>();
  return clock;
}

}  // namespace hone
