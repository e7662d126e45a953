// Code objects as HIP modules.
#pragma once

#include <memory>
#include <span>

#include "kernels/hip/kernel_device.hpp"
#include "workers/hip/context.hpp"

namespace hone::hip {

// Throws std::runtime_error when HIP refuses the code, Error(no_device) when the device is out of service.
std::shared_ptr<const LoadedCode> load_module(std::shared_ptr<Context> context, std::span<const std::byte> code);

}  // namespace hone::hip
