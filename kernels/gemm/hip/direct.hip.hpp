// The matrix product for GPUs without anything to choose: one text, compiled once with hone, runs every problem. A
// work-item computes an element of C; x counts the elements of a matrix, z the matrices.
#include "kernels/gemm/hip/direct_arguments.hpp"

#ifndef KERNEL
#define KERNEL extern "C" __global__
#endif
#ifndef EXPONENTIAL
#define EXPONENTIAL(x) __builtin_expf(x)
#endif
#include "kernels/hip/activation.hip.hpp"

KERNEL void __launch_bounds__(256) gemm_direct(hone::gemm::hip::DirectArguments p) {
  const long long element = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (element >= static_cast<long long>(p.m) * p.n) return;
  const long long row = element / p.n;
  const long long column = element % p.n;
  const long long batch = blockIdx.z;
  const float* a = p.a + batch * p.stride_a + row * p.a_row;
  const float* b = p.b + batch * p.stride_b + column * p.b_column;
  float sum = 0;
  for (int step = 0; step < p.k; ++step) sum += a[step * p.a_column] * b[step * p.b_row];
  float* const target = p.c + batch * p.stride_c + row * p.ldc + column;
  float value = p.alpha * sum;
  if (p.beta != 0) value += p.beta * *target;
  if (p.bias) value += p.bias[column];
  *target = activate(p.activation, value);
}
