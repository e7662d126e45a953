// What a softmax should be: the measure of every solver's result.
#pragma once

#include <cstddef>
#include <hone/operation.hpp>
#include <hone/softmax.hpp>

#include "kernels/row_layout.hpp"

namespace hone::softmax {

// Why the problem makes no sense.
Refusal validate(const Problem& problem);

// The layout of a valid problem.
RowLayout layout_of(const Problem& problem) noexcept;

// Works in double precision.
void reference(const Problem& problem, const std::byte* x, std::byte* y);

// The bound for operands between -1 and 1.
ErrorBound error_bound(const Problem& problem);

}  // namespace hone::softmax
