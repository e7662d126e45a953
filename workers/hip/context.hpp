// A GPU's service record: what HIP's errors mean, waiting with an end, and whether the device still serves.
#pragma once

#include <hip/hip_runtime_api.h>
#include <spdlog/common.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

namespace hone::hip {

// The runtime's own words: "hipErrorOutOfMemory: out of memory".
std::string describe(hipError_t error);
// Errors after which nothing on the device can be relied on.
bool is_sticky(hipError_t error) noexcept;

// Thread-safe.
class Context {
 public:
  Context(int ordinal, std::string name, std::chrono::nanoseconds hang_timeout);

  int ordinal() const noexcept { return ordinal_; }
  const std::string& name() const noexcept { return name_; }
  bool in_service() const noexcept { return in_service_; }

  // What HIP returned as hone's errors: out_of_memory, no_device once the device is out of service, launch_failed for
  // the rest. `what` is what was tried, for the log: "launching a kernel".
  std::error_code check(hipError_t error, std::string_view what) noexcept;
  void warn(std::string_view what) const noexcept;
  // Polls until the stream has done its work. Errc::no_device when it takes longer than a hang does.
  std::error_code wait(hipStream_t stream) noexcept;
  std::error_code wait(hipEvent_t event) noexcept;

 private:
  std::error_code poll(const std::function<hipError_t()>& query) noexcept;
  void give_up(std::string_view why) noexcept;
  void log(spdlog::level::level_enum level, std::string_view what) const noexcept;

  const int ordinal_;
  const std::string name_;
  const std::chrono::nanoseconds hang_timeout_;
  std::atomic<bool> in_service_{true};
};

// While it lives, the calling thread's HIP calls go to the device, and do not disturb a capture in another thread.
class OnDevice {
 public:
  explicit OnDevice(const Context& context) noexcept;
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

 private:
  int before_ = 0;
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
  bool moved_ = false;
};

}  // namespace hone::hip
