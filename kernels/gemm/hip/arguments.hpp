// The argument of the matrix product's GPU kernels, the same text on the host and on the device: plain C++ without any
// header.
#pragma once

namespace hone::gemm::hip {

// Strides in elements of the problem's type, all spelled out.
struct Arguments {
  const void* a;
  const void* b;
  void* c;
  const void* bias;  // null without
  float* parts;      // split products, [batch][split_k][m][n]; null when split_k is 1
  long long lda, ldb, ldc;
  long long stride_a, stride_b, stride_c;
  int m, n, k;
  int split_k;
  float alpha, beta;  // C is not read when beta is 0
};

}  // namespace hone::gemm::hip
