// What a normalised row should be: the measure of every solver's result.
#pragma once

#include <cstddef>
#include <hone/layernorm.hpp>
#include <hone/operation.hpp>

#include "kernels/row_layout.hpp"

namespace hone::layernorm {

// Why the problem makes no sense.
Refusal validate(const Problem& problem);

// The layout of a valid problem.
RowLayout layout_of(const Problem& problem) noexcept;

// Works in double precision. gain and shift may be null where the problem has none.
void reference(const Problem& problem, const std::byte* x, std::byte* y, const std::byte* gain, const std::byte* shift);

// The bound for operands between -1 and 1.
ErrorBound error_bound(const Problem& problem);

}  // namespace hone::layernorm
