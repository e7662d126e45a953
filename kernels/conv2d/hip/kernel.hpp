// The convolution's GPU kernels: their text and code, the search space, and how a configuration is compiled and
// launched. Pure functions: they need no device, and are thread-safe.
#pragma once

#include <cstddef>
#include <hone/conv2d.hpp>
#include <hone/search_space.hpp>
#include <hone/solver.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv2d/hip/arguments.hpp"
#include "kernels/hip/device_limits.hpp"
#include "kernels/hip/kernel_launch.hpp"

namespace hone::conv2d::hip {

using hone::hip::DeviceLimits;
using hone::hip::KernelLaunch;

// The text for the run-time compiler: HIP C++, headers included. Its kernel is "conv2d".
std::string_view source() noexcept;
// What was compiled with hone for an architecture, the kernel "conv2d_direct"; empty for one that it was not compiled
// for.
std::span<const std::byte> direct_f32(std::string_view architecture) noexcept;
std::span<const std::byte> direct_f16(std::string_view architecture) noexcept;

// Why the kernels cannot run a valid problem: sizes beyond their counters.
Refusal refuse(const Problem& problem);

// The configurations that a device with these limits can run: work-group, local memory, and registers by an estimate;
// without those that waste most of a tile.
SearchSpace search_space(const Problem& problem, const DeviceLimits& limits);
// Inside the space; throws Error(invalid_option) when the limits leave nothing.
Configuration default_configuration(const Problem& problem, const DeviceLimits& limits);

// 32-bit registers that a work-item is likely to take.
std::int64_t estimated_registers(const Configuration& configuration);
// Bytes of local memory of a work-group, exactly.
std::int64_t local_memory_bytes(const Problem& problem, const Configuration& configuration);

// Definitions for the compiler, "-DTILE_K=16". Problems of the same filter size, type, layout, bias and activation
// share them.
std::vector<std::string> definitions(const Problem& problem, const Configuration& configuration);

KernelLaunch tiled_launch(const Problem& problem, const Configuration& configuration);
KernelLaunch direct_launch(const Problem& problem);
// The one argument of both kernels; operands as the problem's.
Arguments arguments(const Problem& problem, const hone::Arguments& operands) noexcept;

// hip_tiled, compiled for each configuration; and hip_direct, compiled with hone.
std::shared_ptr<const Solver> tiled();
std::shared_ptr<const Solver> direct();

}  // namespace hone::conv2d::hip
