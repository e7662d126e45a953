// What AMD's GPUs by HIP and NVIDIA's by CUDA differ in beyond names: one of the platform_*.cpp, as HONE_GPU says.
#pragma once

#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace hone::hip {

struct Platform {
  std::string_view vendor;           // in the environment's fingerprint
  std::string_view runtime;          // in sentences
  std::string_view facts;            // names the facts of the environment: "hip driver"
  std::string_view compute_units;    // what a device has so many of
  std::string_view compiler;         // names its version
  std::string_view no_device;        // what to look at when the runtime finds none
  std::string_view visible_devices;  // the variable that hides devices
  // Errors after which nothing on the device can be relied on, besides those that both have.
  std::span<const hipError_t> sticky_errors;
  // 32-bit registers that a work-item can have.
  std::int64_t (*work_item_registers)(std::string_view architecture) noexcept;
};

extern const Platform platform;

}  // namespace hone::hip
