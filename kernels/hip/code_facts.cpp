#include "kernels/hip/code_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone::hip {
namespace {

constexpr std::int64_t register_bytes = 4;

const KernelFacts* facts_of(std::span<const KernelFacts> kernels, const KernelLaunch& launch) {
  const auto found = std::ranges::find(kernels, launch.kernel, &KernelFacts::name);
  return found == kernels.end() ? nullptr : &*found;
}

Refusal hopeless(const KernelFacts& kernel, std::int64_t work_group, const DeviceLimits& limits) {
  // Scalar registers are spilled to vector registers and those to accumulation registers, as long as there are some.
  const std::int64_t in_memory = std::min(kernel.spilled_registers, kernel.private_memory_bytes / register_bytes);
  if (in_memory > max_spilled_registers) {
    return fmt::format("its kernel {} spills {} registers to memory, more than the {} that are worth a run",
                       kernel.name, in_memory, max_spilled_registers);
  }
  if (kernel.local_memory_bytes > limits.local_memory_bytes) {
    return fmt::format("its kernel {} takes {} bytes of local memory, and the device has {} for a work-group",
                       kernel.name, kernel.local_memory_bytes, limits.local_memory_bytes);
  }
  if (kernel.vector_registers > limits.work_group_registers / std::max<std::int64_t>(work_group, 1)) {
    return fmt::format("its kernel {} takes {} registers for each of {} work-items, and the device has {} in all",
                       kernel.name, kernel.vector_registers, work_group, limits.work_group_registers);
  }
  return {};
}

}  // namespace

CodeFacts code_facts(std::span<const KernelFacts> kernels, std::span<const KernelLaunch> launches) {
  CodeFacts facts;
  const auto raise = [&](const char* name, std::int64_t value) {
    std::int64_t& fact = facts[name];
    fact = std::max(fact, value);
  };
  for (const KernelLaunch& launch : launches) {
    const KernelFacts* kernel = facts_of(kernels, launch);
    if (kernel == nullptr) continue;
    raise("vector_registers", kernel->vector_registers);
    raise("scalar_registers", kernel->scalar_registers);
    raise("spilled_registers", kernel->spilled_registers);
    raise("local_memory_bytes", kernel->local_memory_bytes);
    raise("private_memory_bytes", kernel->private_memory_bytes);
  }
  return facts;
}

Refusal hopeless(std::span<const KernelFacts> kernels, std::span<const KernelLaunch> launches,
                 const DeviceLimits& limits) {
  for (const KernelLaunch& launch : launches) {
    const KernelFacts* kernel = facts_of(kernels, launch);
    if (kernel == nullptr) continue;
    if (Refusal refusal = hopeless(*kernel, launch.work_group, limits)) return refusal;
  }
  return {};
}

void reject_hopeless(std::span<const KernelFacts> kernels, std::span<const KernelLaunch> launches,
                     const DeviceLimits& limits) {
  if (const Refusal refusal = hopeless(kernels, launches, limits)) {
    throw RejectedCode(*refusal, code_facts(kernels, launches));
  }
}

}  // namespace hone::hip
