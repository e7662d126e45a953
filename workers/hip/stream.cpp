#include "workers/hip/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hone/error.hpp>
#include <utility>

namespace hone::hip {
namespace {

// What the two clocks may disagree by: each counts in ticks of its own.
constexpr double clock_error = 0.02;
constexpr std::chrono::microseconds clock_ticks{2};

int priority_of(StreamPriority wanted) {
  int least = 0, greatest = 0;
  if (wanted == StreamPriority::normal) return 0;
  return hipDeviceGetStreamPriorityRange(&least, &greatest) == hipSuccess ? least : 0;
}

}  // namespace

struct HipStream::Event {
  Event() noexcept : error(hipEventCreateWithFlags(&value, hipEventDefault)) {}
  ~Event() {
    if (error == hipSuccess) static_cast<void>(hipEventDestroy(value));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  hipEvent_t value = nullptr;
  const hipError_t error;
};

HipStream::HipStream(std::shared_ptr<Context> context, StreamPriority priority)
    : context_(std::move(context)), own_(true) {
  const OnDevice here(*context_);
  const hipError_t error = hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, priority_of(priority));
  if (context_->check(error, "making a stream")) {
    throw Error(Errc::no_device, fmt::format("device {} gives no stream: {}", context_->name(), describe(error)));
  }
}

HipStream::HipStream(std::shared_ptr<Context> context, hipStream_t stream) noexcept
    : context_(std::move(context)), stream_(stream), own_(false) {}

HipStream::~HipStream() {
  const OnDevice here(*context_);
  if (own_ && !context_->wait(stream_)) static_cast<void>(hipStreamDestroy(stream_));
  // Freeing waits for the device, and what is out of service may never end.
  if (!context_->in_service()) return;
  for (void* memory : scratch_) static_cast<void>(context_->check(hipFree(memory), "freeing scratch memory"));
}

std::error_code HipStream::synchronize() noexcept {
  if (!context_->in_service()) return Errc::no_device;
  const OnDevice here(*context_);
  return context_->wait(stream_);
}

std::error_code HipStream::time(const std::function<std::error_code()>& launch, int count,
                                std::chrono::nanoseconds& elapsed) noexcept {
  if (!context_->in_service()) return Errc::no_device;
  const OnDevice here(*context_);
  if (!begin_) begin_.reset(new (std::nothrow) Event);
  if (!end_) end_.reset(new (std::nothrow) Event);
  if (!begin_ || !end_) return Errc::out_of_memory;
  for (const Event* event : {begin_.get(), end_.get()}) {
    if (const auto error = context_->check(event->error, "making an event")) return error;
  }
  const auto wall_start = std::chrono::steady_clock::now();
  if (const auto error = context_->check(hipEventRecord(begin_->value, stream_), "recording an event")) return error;
  std::error_code failed;
  for (int i = 0; i < count && !failed; ++i) {
    try {
      failed = launch();
    } catch (...) {
      failed = Errc::launch_failed;
    }
  }
  // Also after an error: nothing of this batch may be in flight when the next one begins.
  if (const auto error = context_->check(hipEventRecord(end_->value, stream_), "recording an event")) return error;
  if (const auto error = context_->wait(end_->value)) return error;
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - wall_start;
  if (failed) return failed;
  float milliseconds = 0;
  const hipError_t read = hipEventElapsedTime(&milliseconds, begin_->value, end_->value);
  if (const auto error = context_->check(read, "reading the device's clock")) return error;
  const std::chrono::duration<double, std::milli> taken(milliseconds);
  if (!(taken.count() >= 0) || taken > wall * (1 + clock_error) + clock_ticks) return Errc::clock_failed;
  elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(taken);
  return {};
}

void* HipStream::scratch(std::size_t bytes) noexcept {
  if (!context_->in_service()) return nullptr;
  if (bytes <= scratch_bytes_ && !scratch_.empty()) return scratch_.back();
  try {
    const OnDevice here(*context_);
    scratch_.reserve(scratch_.size() + 1);
    // In steps, since what it grows out of stays.
    const std::size_t wanted = std::max({bytes, 2 * scratch_bytes_, std::size_t{4096}});
    void* memory = nullptr;
    if (context_->check(hipMalloc(&memory, wanted), "allocating scratch memory")) return nullptr;
    scratch_.push_back(memory);
    scratch_bytes_ = wanted;
    return memory;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace hone::hip
