// The argument of the direct GPU kernel, the same text on the host and on the device: plain C++ without any header.
#pragma once

namespace hone::gemm::hip {

// Strides in elements of the problem's type; op(A) and op(B) by the strides of their rows and columns.
struct DirectArguments {
  const void* a;
  const void* b;
  void* c;
  const void* bias;  // null without
  long long a_row, a_column, b_row, b_column, ldc;
  long long stride_a, stride_b, stride_c;
  int m, n, k;
  int activation;
  float alpha, beta;  // C is not read when beta is 0
};

}  // namespace hone::gemm::hip
