// Which compiled code is not worth a run, and what a trial keeps of it. Pure functions.
#pragma once

#include <cstdint>
#include <hone/code_facts.hpp>
#include <hone/solver.hpp>
#include <span>

#include "kernels/hip/code_object.hpp"
#include "kernels/hip/device_limits.hpp"
#include "kernels/hip/kernel_launch.hpp"

namespace hone::hip {

// Registers that a kernel may spill to memory. A few are saved once around a loop. So many are a quarter of the
// smallest register file of a work-item: the tile itself lies in memory then, which every step of the inner loop writes
// and reads again.
inline constexpr std::int64_t max_spilled_registers = 64;

// Facts of the launched kernels; empty when the code says nothing of them.
CodeFacts code_facts(std::span<const KernelFacts> kernels, std::span<const KernelLaunch> launches);

// Why launching is hopeless: a kernel that spills more than max_spilled_registers to memory, or whose work-groups take
// more local memory or registers than the device has. What nothing is known of is not hopeless.
Refusal hopeless(std::span<const KernelFacts> kernels, std::span<const KernelLaunch> launches,
                 const DeviceLimits& limits);

// Throws RejectedCode when launching is hopeless. For what a search tries: a default is the best guess whatever a
// compiler makes of it, and is always run.
void reject_hopeless(std::span<const KernelFacts> kernels, std::span<const KernelLaunch> launches,
                     const DeviceLimits& limits);

}  // namespace hone::hip
