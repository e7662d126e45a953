#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <hone/device.hpp>
#include <hone/error.hpp>
#include <new>
#include <utility>

#include "workers/background_priority.hpp"
#include "workers/host/processor.hpp"
#include "workers/host/run_delay.hpp"

namespace hone {
namespace {

constexpr std::size_t alignment = 64;

struct Free {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

std::byte* allocate_aligned(std::size_t bytes) noexcept {
  // Nothing larger can exist, and sanitizers end the process that asks for it.
  if (bytes > PTRDIFF_MAX - alignment) return nullptr;
  const std::size_t size = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  return static_cast<std::byte*>(std::aligned_alloc(alignment, size));
}

// Kernels run inside the call that launches them, on the caller's thread.
class HostStream final : public Stream {
 public:
  explicit HostStream(StreamPriority priority) : yields_(priority == StreamPriority::background) {}

  std::error_code synchronize() noexcept override { return {}; }

  std::error_code time(const std::function<std::error_code()>& launch, int count,
                       std::chrono::nanoseconds& elapsed) noexcept override {
    if (std::exchange(yields_, false)) workers::yield_to_others();
    // What the thread waited for a processor while others had it is no part of the kernel's time. It is asked for
    // outside the timed span, which it would lengthen.
    const auto delay_before = run_delay_.total();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      try {
        if (const std::error_code error = launch()) return error;
      } catch (...) {
        return Errc::launch_failed;
      }
    }
    elapsed = std::chrono::steady_clock::now() - start;
    const auto delay = run_delay_.total() - delay_before;
    if (delay.count() > 0 && delay < elapsed) elapsed -= delay;
    return {};
  }

  void* scratch(std::size_t bytes) noexcept override {
    if (bytes > capacity_ || !scratch_) {
      scratch_.reset();
      scratch_.reset(allocate_aligned(bytes));
      capacity_ = scratch_ ? bytes : 0;
    }
    return scratch_.get();
  }

 private:
  bool yields_;
  workers::host::RunDelay run_delay_;
  std::unique_ptr<std::byte, Free> scratch_;
  std::size_t capacity_ = 0;
};

class HostDevice final : public Device {
 public:
  const std::string& name() const noexcept override { return name_; }
  const Environment& environment() const noexcept override { return processor_.environment; }

  std::unique_ptr<Stream> make_stream(StreamPriority priority) override {
    return std::make_unique<HostStream>(priority);
  }

  Buffer allocate(std::size_t bytes) override {
    std::byte* memory = allocate_aligned(bytes);
    if (memory == nullptr) {
      throw Error(Errc::out_of_memory,
                  "the host has no " + std::to_string(bytes) + " bytes left; lower max_buffer_bytes or free memory");
    }
    return Buffer(memory, Free{});
  }

  void copy_to_device(std::byte* target, std::span<const std::byte> source) override {
    if (!source.empty()) std::memcpy(target, source.data(), source.size());
  }
  void copy_to_host(std::span<std::byte> target, const std::byte* source) override {
    if (!target.empty()) std::memcpy(target.data(), source, target.size());
  }

  // Passes over an array in the first-level cache, bound by throughput: that is what a neighbour on the same core
  // takes.
  std::error_code run_reference(Stream&) noexcept override {
    constexpr int passes = 120;
    static thread_local std::array<float, 4096> values{};
    for (int pass = 0; pass < passes; ++pass) {
      for (float& value : values) value = value * 0.5F + 1.0F;
    }
    return {};
  }

  std::size_t last_level_cache_bytes() const noexcept override { return processor_.last_level_cache_bytes; }

 private:
  std::string name_ = "host";
  workers::host::Processor processor_ = workers::host::processor();
};

}  // namespace

std::shared_ptr<Device> host_device() { return std::make_shared<HostDevice>(); }

std::unique_ptr<Stream> host_stream() { return std::make_unique<HostStream>(StreamPriority::normal); }

}  // namespace hone
