// Devices and their streams: where candidates run and what measures them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <hone/binary_cache.hpp>
#include <hone/environment.hpp>
#include <memory>
#include <span>
#include <string>
#include <system_error>

namespace hone {

// A queue of work on a device. The caller makes one for its own launches; every worker has one of its own.
// One thread at a time may use a stream.
class Stream {
 public:
  virtual ~Stream() = default;
  // Waits for all work launched so far.
  virtual std::error_code synchronize() noexcept = 0;
  // Runs `launch` `count` times back to back and sets `elapsed` to the device time of all of them together. Device time
  // is the device's own clock where there is one, else a steady clock around the batch. The first error ends the batch.
  virtual std::error_code time(const std::function<std::error_code()>& launch, int count,
                               std::chrono::nanoseconds& elapsed) noexcept = 0;
  // Workspace of at least `bytes`, aligned to 64, valid until the next call; nullptr when there is no memory.
  virtual void* scratch(std::size_t bytes) noexcept = 0;
};

// Device memory, freed with its last owner.
using Buffer = std::shared_ptr<std::byte>;

// What a stream is for: the caller's own launches, or background work that should yield to them.
enum class StreamPriority { normal, background };

// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  // Stable and short, unique among an engine's devices: "host", "hip:0".
  virtual const std::string& name() const noexcept = 0;
  // The device's part of the fingerprint; operations add their libraries.
  virtual const Environment& environment() const noexcept = 0;
  // Throws Error(no_device).
  virtual std::unique_ptr<Stream> make_stream(StreamPriority priority) = 0;
  // `bytes` of device memory aligned to at least 64. Throws Error(out_of_memory).
  virtual Buffer allocate(std::size_t bytes) = 0;
  // Synchronous copies between host memory and device memory.
  virtual void copy_to_device(std::byte* target, std::span<const std::byte> source) = 0;
  virtual void copy_to_host(std::span<std::byte> target, const std::byte* source) = 0;
  // Launches a small fixed piece of work, about 50 microseconds on an idle device: its time tells how loaded the device
  // is. errc::not_supported (the default) where there is none; then no measurement is corrected for load.
  virtual std::error_code run_reference(Stream&) noexcept { return std::make_error_code(std::errc::not_supported); }
  // Where the device keeps what it compiles; null: nowhere. Called by the engine that the device is added to.
  virtual void use(std::shared_ptr<BinaryCache>) {}
  // Bytes of the largest cache, for flushing between cold measurements.
  virtual std::size_t last_level_cache_bytes() const noexcept = 0;
};

// The host's processor: a stream is a CPU thread, and every kernel runs on the thread that launches it.
std::shared_ptr<Device> host_device();

// A stream for the calling program's own launches on the host device.
std::unique_ptr<Stream> host_stream();

}  // namespace hone
