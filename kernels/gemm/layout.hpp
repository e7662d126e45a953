// The layout of a matrix product's operands, with every default spelled out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/gemm.hpp>
#include <hone/solver.hpp>

namespace hone::gemm {

// Elements throughout. An element of op(A) is at batch * stride_a + row * a_row + column * a_column, likewise B.
struct Layout {
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t a_row = 0, a_column = 0;
  std::int64_t b_row = 0, b_column = 0;
  // From the first to behind the last element that the whole batch touches.
  std::size_t extent_a = 0, extent_b = 0, extent_c = 0;
};

// Why the problem makes no sense.
Refusal validate(const Problem& problem);

// The layout of a valid problem.
Layout layout_of(const Problem& problem);

}  // namespace hone::gemm
