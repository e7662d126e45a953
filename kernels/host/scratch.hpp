// How the parts of a solver share the one scratch of a stream.
#pragma once

#include <cstddef>
#include <hone/device.hpp>

namespace hone::host {

// Bytes of a part, so that the next one begins on a cache line.
constexpr std::size_t scratch_part(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

// For a solver inside another solver's launch: its scratch is a part of the other's.
class PartStream final : public Stream {
 public:
  PartStream(Stream& whole, std::byte* part, std::size_t bytes) noexcept : whole_(whole), part_(part), bytes_(bytes) {}
  std::error_code synchronize() noexcept override { return whole_.synchronize(); }
  std::error_code time(const std::function<std::error_code()>& launch, int count,
                       std::chrono::nanoseconds& elapsed) noexcept override {
    return whole_.time(launch, count, elapsed);
  }
  void* scratch(std::size_t bytes) noexcept override { return bytes <= bytes_ ? part_ : nullptr; }

 private:
  Stream& whole_;
  std::byte* part_;
  std::size_t bytes_;
};

}  // namespace hone::host
