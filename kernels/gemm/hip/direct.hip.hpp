// The matrix product for GPUs without anything to choose: one text, compiled with hone for each type, runs every
// problem. A work-item computes an element of C; x counts the elements of a matrix, z the matrices.
//
//   ELEMENT  the type of A, B, C and bias; sums are float
#include "kernels/gemm/hip/direct_arguments.hpp"

#ifndef KERNEL
#define KERNEL extern "C" __global__
#endif
#ifndef EXPONENTIAL
#define EXPONENTIAL(x) __builtin_expf(x)
#endif
#include "kernels/hip/activation.hip.hpp"

KERNEL void __launch_bounds__(256) gemm_direct(hone::gemm::hip::DirectArguments p) {
  using Element = ELEMENT;
  const long long element = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (element >= static_cast<long long>(p.m) * p.n) return;
  const long long row = element / p.n;
  const long long column = element % p.n;
  const long long batch = blockIdx.z;
  const Element* a = static_cast<const Element*>(p.a) + batch * p.stride_a + row * p.a_row;
  const Element* b = static_cast<const Element*>(p.b) + batch * p.stride_b + column * p.b_column;
  float sum = 0;
  for (int step = 0; step < p.k; ++step) {
    sum += static_cast<float>(a[step * p.a_column]) * static_cast<float>(b[step * p.b_row]);
  }
  Element* const target = static_cast<Element*>(p.c) + batch * p.stride_c + row * p.ldc + column;
  float value = p.alpha * sum;
  if (p.beta != 0) value += p.beta * static_cast<float>(*target);
  if (p.bias) value += static_cast<float>(static_cast<const Element*>(p.bias)[column]);
  *target = static_cast<Element>(activate(p.activation, value));
}
