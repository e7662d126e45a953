// What a matrix product should be: the measure of every solver's result.
#pragma once

#include <cstddef>
#include <hone/gemm.hpp>
#include <hone/operation.hpp>

namespace hone::gemm {

// Accumulates in double precision. Operands in the operation's order; bias may be null when the problem has none.
void reference(const Problem& problem, const std::byte* a, const std::byte* b, std::byte* c, const std::byte* bias);

// The bound for operands between -1 and 1.
ErrorBound error_bound(const Problem& problem);

}  // namespace hone::gemm
