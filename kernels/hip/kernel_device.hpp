// What GPU kernels need of their device: code compiled or loaded for it, and launches. Devices of workers/ implement
// it.
#pragma once

#include <cstddef>
#include <hone/device.hpp>
#include <hone/solver.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/hip/code_object.hpp"
#include "kernels/hip/device_limits.hpp"
#include "kernels/hip/kernel_launch.hpp"

namespace hone::hip {

// A text in HIP C++ and how it is to be compiled.
struct KernelSource {
  std::string_view name;  // for messages
  std::string_view text;
  std::vector<std::string> definitions;  // "-DTILE_K=16"
};

// A kernel with its geometry. Thread-safe.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  // Launches with the one argument, which is copied; does not wait. The stream must be one of the device's.
  virtual std::error_code run(Stream& stream, const void* argument) const noexcept = 0;
};

// A code object on the device; unloaded with its last owner and the last of its launches.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  // Throws std::runtime_error when the code has no such kernel.
  virtual std::unique_ptr<const PreparedLaunch> prepare(const KernelLaunch& launch) const = 0;
  // What the compiler says about its kernels; empty where it says nothing. Valid as long as the code.
  virtual std::span<const KernelFacts> kernels() const noexcept = 0;
};

// Thread-safe.
class KernelDevice {
 public:
  virtual ~KernelDevice() = default;
  virtual const DeviceLimits& limits() const noexcept = 0;
  virtual bool in_service() const noexcept = 0;
  // Without features: "gfx90a".
  virtual std::string_view architecture() const noexcept = 0;
  // Takes the code from a cache or compiles it, which takes seconds, and loads it. Throws std::runtime_error with the
  // compiler's words, Error(no_device) when the device is out of service.
  virtual std::shared_ptr<const LoadedCode> compile(const KernelSource& source) = 0;
  // Loads what was compiled before. Throws as compile does.
  virtual std::shared_ptr<const LoadedCode> load(std::span<const std::byte> code) = 0;
};

// Refuses every device that GPU kernels cannot run on.
Refusal refuse_device(const Device& device);
inline constexpr const char* no_precompiled_code = "hone was compiled without code for this GPU's architecture";

}  // namespace hone::hip
