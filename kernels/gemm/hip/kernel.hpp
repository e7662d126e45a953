// The matrix product's GPU kernel: its text, its search space, and how a configuration of it is compiled and launched.
// Pure functions: they need no device, and are thread-safe.
#pragma once

#include <cstddef>
#include <hone/gemm.hpp>
#include <hone/search_space.hpp>
#include <hone/solver.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/hip/arguments.hpp"
#include "kernels/hip/device_limits.hpp"
#include "kernels/hip/kernel_launch.hpp"

namespace hone::gemm::hip {

using hone::hip::DeviceLimits;
using hone::hip::KernelLaunch;

// The text for the run-time compiler: HIP C++, headers included.
std::string_view source() noexcept;

// Why the kernel cannot run a valid problem: sizes beyond its counters.
Refusal refuse(const Problem& problem);

// The configurations that a device with these limits can run: work-group, local memory, and registers by an estimate;
// without those that waste most of a tile or that do the same as another.
SearchSpace search_space(const Problem& problem, const DeviceLimits& limits);
// Inside the space; throws Error(invalid_option) when the limits leave nothing.
Configuration default_configuration(const Problem& problem, const DeviceLimits& limits);

// 32-bit registers that a work-item is likely to take.
std::int64_t estimated_registers(const Configuration& configuration);
// Bytes of local memory of a work-group, exactly.
std::int64_t local_memory_bytes(const Problem& problem, const Configuration& configuration);

// Definitions for the compiler, "-DTILE_K=16". Problems that differ in sizes and strides only share them.
std::vector<std::string> definitions(const Problem& problem, const Configuration& configuration);

// Bytes of scratch, for the parts of split products.
std::size_t workspace(const Problem& problem, const Configuration& configuration);
// The launches of one product, in order.
std::vector<KernelLaunch> launches(const Problem& problem, const Configuration& configuration);
// The one argument of every kernel; operands as the problem's, `scratch` of workspace() bytes.
Arguments arguments(const Problem& problem, const Configuration& configuration, const hone::Arguments& operands,
                    void* scratch) noexcept;

}  // namespace hone::gemm::hip
