// A HIP stream as one of hone's.
#pragma once

#include <memory>
#include <vector>

#include <hone/device.hpp>

#include "workers/hip/context.hpp"

namespace hone::hip {

class HipStream final : public Stream {
 public:
  // A non-blocking stream of its own. Throws Error(no_device).
  HipStream(std::shared_ptr<Context> context, StreamPriority priority);
  // The caller's.
  HipStream(std::shared_ptr<Context> context, hipStream_t stream) noexcept;
  ~HipStream() override;
  HipStream(const HipStream&) = delete;
  HipStream& operator=(const HipStream&) = delete;

  std::error_code synchronize() noexcept override;
  std::error_code time(const std::function<std::error_code()>& launch, int count,
                       std::chrono::nanoseconds& elapsed) noexcept override;
  void* scratch(std::size_t bytes) noexcept override;

  hipStream_t native() const noexcept { return stream_; }
  Context& context() const noexcept { return *context_; }

 private:
  struct Event;

  const std::shared_ptr<Context> context_;
  hipStream_t stream_ = nullptr;
  const bool own_;
  std::unique_ptr<Event> begin_, end_;
  std::vector<void*> scratch_;  // the last is the largest; a captured graph may use any
  std::size_t scratch_bytes_ = 0;
};

}  // namespace hone::hip
