// The direct GPU kernel: how a problem becomes its argument and its launch, and its code. Pure functions.
#pragma once

#include <cstddef>
#include <hone/gemm.hpp>
#include <hone/solver.hpp>
#include <span>
#include <string_view>

#include "kernels/gemm/hip/direct_arguments.hpp"
#include "kernels/hip/kernel_launch.hpp"

namespace hone::gemm::hip {

// What was compiled with hone for a GPU architecture ("gfx90a"); empty for one that it was not compiled for.
std::span<const std::byte> direct_f32(std::string_view architecture) noexcept;
std::span<const std::byte> direct_f16(std::string_view architecture) noexcept;
// The one of the type.
std::span<const std::byte> direct_code(DataType type, std::string_view architecture) noexcept;

// Why the kernel cannot run a valid problem: sizes beyond its counters.
Refusal refuse_direct(const Problem& problem);
hone::hip::KernelLaunch direct_launch(const Problem& problem);
// Operands as the problem's.
DirectArguments direct_arguments(const Problem& problem, const hone::Arguments& operands) noexcept;

}  // namespace hone::gemm::hip
