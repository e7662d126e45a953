// The matrix product: C = activation(alpha op(A) op(B) + beta C + bias), row-major, one or many of the same size.
#pragma once

#include <cstdint>
#include <hone/activation.hpp>
#include <hone/data_type.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <string_view>

namespace hone::gemm {

using hone::Activation;

// op(A) is m x k, op(B) is k x n, C is m x n, each row-major; A is stored k x m when transpose_a, B is stored n x k
// when transpose_b. lda, ldb and ldc are the distances between stored rows and stride_a, stride_b and stride_c those
// between the matrices of a batch, all in elements; 0 stands for dense. Elements of C between its rows are not touched.
// C is not read when beta is 0.
// Sums are formed in f32 or wider for every type.
// Operands of run: {a, b, c} or {a, b, c, bias}, bias a row of n elements added to every row.
struct Problem {
  static constexpr std::string_view operation = "gemm";
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType type = f32;
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  float beta = 0;
  bool bias = false;
  Activation activation = Activation::none;
  std::int64_t batch = 1;
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  // Bytes of scratch that a solution may use; negative for no limit.
  std::int64_t workspace_limit = -1;

  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("m", self.m);
    visit("n", self.n);
    visit("k", self.k);
    visit("type", self.type);
    visit("transpose_a", self.transpose_a);
    visit("transpose_b", self.transpose_b);
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("bias", self.bias);
    visit("activation", self.activation);
    visit("batch", self.batch);
    visit("lda", self.lda);
    visit("ldb", self.ldb);
    visit("ldc", self.ldc);
    visit("stride_a", self.stride_a);
    visit("stride_b", self.stride_b);
    visit("stride_c", self.stride_c);
    visit("workspace_limit", self.workspace_limit);
  }
};

// The operation with every solver whose library is present: OpenBLAS, BLIS, oneDNN, LIBXSMM, hone's own kernels,
// and padded variants on the host, in f32, with a plain loop for f16; hone's own kernels on GPUs, for both.
std::shared_ptr<const Operation> operation();

}  // namespace hone::gemm
