// What a convolution should be: the measure of every solver's result.
#pragma once

#include <cstddef>
#include <hone/conv2d.hpp>
#include <hone/operation.hpp>

namespace hone::conv2d {

// Accumulates in double precision; bias may be null when the problem has none.
void reference(const Problem& problem, const std::byte* x, const std::byte* weights, std::byte* y,
               const std::byte* bias);

// The bound for operands between -1 and 1.
ErrorBound error_bound(const Problem& problem);

}  // namespace hone::conv2d
