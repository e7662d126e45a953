// The vectorised normalisation of one row, one set of functions for each instruction set.
#pragma once

#include <cstdint>

namespace hone::layernorm::host {

struct Row {
  const float* x;
  float* y;
  const float* gain;   // null for none
  const float* shift;  // null for none
  std::int64_t columns;
  float epsilon;
  bool root_mean_square;
};
using RowKernel = void (*)(const Row&) noexcept;

// two_pass: the mean, then the squares of the differences to it. shifted: both in one pass, from the differences to the
// row's first element (Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983); with a mean of
// 0 the two do the same.
inline constexpr int methods = 2;
enum Method { two_pass, shifted };

// Independent vectors in flight.
inline constexpr int unrolls[] = {1, 2, 4, 8};
inline constexpr int unroll_count = 4;

struct RowKernels {
  const char* name;
  RowKernel kernels[methods][unroll_count];
};

// Each set, or null when the processor or the build lacks it.
const RowKernels* avx512_rows() noexcept;
const RowKernels* avx2_rows() noexcept;
const RowKernels* portable_rows() noexcept;

}  // namespace hone::layernorm::host
