#include "workers/hip/context.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <hone/error.hpp>
#include <thread>
#include <utility>

#include "workers/hip/platform.hpp"

namespace hone::hip {
namespace {

// Most kernels that are waited for end sooner; a thread that sleeps is woken later than it asked for.
constexpr std::chrono::microseconds awake{200};
constexpr std::chrono::microseconds nap{50};

}  // namespace

std::string describe(hipError_t error) {
  const std::string_view name = hipGetErrorName(error), words = hipGetErrorString(error);
  return name == words ? std::string(name) : fmt::format("{}: {}", name, words);
}

bool is_sticky(hipError_t error) noexcept {
  switch (error) {
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
    case hipErrorDeinitialized:
    case hipErrorECCNotCorrectable:
    case hipErrorIllegalAddress:
    case hipErrorIllegalState:
    case hipErrorLaunchTimeOut:
    case hipErrorLaunchFailure:
    case hipErrorPriorLaunchFailure:
    case hipErrorContextIsDestroyed:
    case hipErrorAssert:
    case hipErrorUnknown:
      return true;
    default:
      return std::ranges::find(platform.sticky_errors, error) != platform.sticky_errors.end();
  }
}

Context::Context(int ordinal, std::string name, std::chrono::nanoseconds hang_timeout)
    : ordinal_(ordinal), name_(std::move(name)), hang_timeout_(hang_timeout) {}

void Context::log(spdlog::level::level_enum level, std::string_view what) const noexcept {
  try {
    const auto logger = spdlog::get("hone");
    (logger ? logger : spdlog::default_logger())->log(level, "device {}: {}", name_, what);
  } catch (const std::exception&) {
    // Without memory for a line of the log; the callers see the error all the same.
  }
}

void Context::warn(std::string_view what) const noexcept { log(spdlog::level::warn, what); }

void Context::give_up(std::string_view why) noexcept {
  if (!in_service_.exchange(false)) return;
  log(spdlog::level::err, why);
  log(spdlog::level::err, "it is out of service");
}

std::error_code Context::check(hipError_t error, std::string_view what) noexcept {
  if (error != hipSuccess && is_sticky(error)) {
    try {
      give_up(fmt::format("{} failed with {}", what, describe(error)));
    } catch (const std::bad_alloc&) {
      give_up(what);
    }
  }
  if (!in_service_) return Errc::no_device;
  if (error == hipSuccess) return {};
  return error == hipErrorOutOfMemory ? Errc::out_of_memory : Errc::launch_failed;
}

std::error_code Context::poll(const std::function<hipError_t()>& query) noexcept {
  for (const auto start = std::chrono::steady_clock::now();;) {
    const hipError_t state = query();
    if (state != hipErrorNotReady) return check(state, "work on a stream");
    if (!in_service_) return Errc::no_device;
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > hang_timeout_) {
      give_up("work on a stream does not come to an end");
      return Errc::no_device;
    }
    waited < awake ? std::this_thread::yield() : std::this_thread::sleep_for(nap);
  }
}

std::error_code Context::wait(hipStream_t stream) noexcept {
  return poll([stream] { return hipStreamQuery(stream); });
}

std::error_code Context::wait(hipEvent_t event) noexcept {
  return poll([event] { return hipEventQuery(event); });
}

OnDevice::OnDevice(const Context& context) noexcept {
  moved_ = hipGetDevice(&before_) == hipSuccess && before_ != context.ordinal() &&
           hipSetDevice(context.ordinal()) == hipSuccess;
  if (hipThreadExchangeStreamCaptureMode(&mode_) != hipSuccess) mode_ = hipStreamCaptureModeRelaxed;
}

OnDevice::~OnDevice() {
  // Nothing can be done about a failure here, and what follows meets it too.
  static_cast<void>(hipThreadExchangeStreamCaptureMode(&mode_));
  if (moved_) static_cast<void>(hipSetDevice(before_));
}

}  // namespace hone::hip
