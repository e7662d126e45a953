// The GPU kernel of softmax: its text, its argument and its code.
#pragma once

#include <cstddef>
#include <hone/softmax.hpp>
#include <hone/solver.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/row_layout.hpp"
#include "kernels/softmax/hip/arguments.hpp"

namespace hone::softmax::hip {

// The text for the run-time compiler: HIP C++, headers included. Its kernel is "softmax".
std::string_view source() noexcept;
// What was compiled with hone for an architecture; empty for one that it was not compiled for.
std::span<const std::byte> precompiled_f32(std::string_view architecture) noexcept;
std::span<const std::byte> precompiled_f16(std::string_view architecture) noexcept;

// Operands as the problem's; nothing where one is missing.
std::optional<Arguments> arguments(const Problem& problem, const RowLayout& layout,
                                   const hone::Arguments& operands) noexcept;

// hip_rows, compiled for each configuration; and hip_direct, compiled with hone.
std::shared_ptr<const Solver> rows();
std::shared_ptr<const Solver> direct();

}  // namespace hone::softmax::hip
