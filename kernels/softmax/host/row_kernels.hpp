// The vectorised softmax of one row, one set of functions for each instruction set.
#pragma once

#include <cstdint>

namespace hone::softmax::host {

struct Row {
  const float* x;
  float* y;
  std::int64_t columns;
  float scale;
  bool logarithm;
};
using RowKernel = void (*)(const Row&) noexcept;

// store: the largest, then the powers into y with their sum, then y scaled. recompute: the largest, the sum, then the
// powers again; nothing is read back from y. online: the largest and the sum in one pass (Milakov and Gimelshein,
// arXiv:1805.02867), then the powers again.
inline constexpr int methods = 3;
enum Method { store_powers, recompute, online };

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

}  // namespace hone::softmax::host
