#include "kernels/gemm/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace hone::gemm {
namespace {

// Byte offsets must fit a signed 64-bit integer.
constexpr std::int64_t max_elements = std::numeric_limits<std::int64_t>::max() / 8;

struct Matrix {
  std::int64_t rows, columns, ld, stride;
};

Matrix stored_a(const Problem& p) {
  const auto [rows, columns] = p.transpose_a ? std::pair(p.k, p.m) : std::pair(p.m, p.k);
  return {rows, columns, p.lda, p.stride_a};
}
Matrix stored_b(const Problem& p) {
  const auto [rows, columns] = p.transpose_b ? std::pair(p.n, p.k) : std::pair(p.k, p.n);
  return {rows, columns, p.ldb, p.stride_b};
}
Matrix stored_c(const Problem& p) { return {p.m, p.n, p.ldc, p.stride_c}; }

// Fills in the defaults and the extent; false when a size does not fit.
bool complete(Matrix& matrix, std::int64_t batch, std::int64_t& extent) {
  if (matrix.ld == 0) matrix.ld = matrix.columns;
  std::int64_t dense = 0;
  if (__builtin_mul_overflow(matrix.rows, matrix.ld, &dense)) return false;
  if (matrix.stride == 0) matrix.stride = dense;
  std::int64_t last = 0;
  if (__builtin_mul_overflow(batch - 1, matrix.stride, &last)) return false;
  if (__builtin_add_overflow(last, dense - matrix.ld + matrix.columns, &extent)) return false;
  return extent <= max_elements && dense <= max_elements && matrix.stride <= max_elements;
}

// Matrices of the batch follow each other, or their rows interleave as those of a tensor's heads do.
bool disjoint(const Matrix& c, std::int64_t batch) {
  if (batch == 1) return true;
  if (c.stride >= (c.rows - 1) * c.ld + c.columns) return true;
  return c.stride >= c.columns && (batch - 1) * c.stride + c.columns <= c.ld;
}

}  // namespace

Refusal validate(const Problem& p) {
  if (p.type != f32 && p.type != f16) return "field type accepts f32 and f16";
  if (static_cast<std::size_t>(p.activation) >= symbols(Activation{}).size()) {
    return "field activation accepts none, relu and gelu";
  }
  const std::pair<std::string_view, std::int64_t> sizes[] = {{"m", p.m}, {"n", p.n}, {"k", p.k}, {"batch", p.batch}};
  for (const auto& [name, value] : sizes) {
    if (value <= 0) return fmt::format("field {} must be positive", name);
  }
  if (!std::isfinite(p.alpha)) return "field alpha must be finite";
  if (!std::isfinite(p.beta)) return "field beta must be finite";
  const std::pair<char, Matrix> matrices[] = {{'a', stored_a(p)}, {'b', stored_b(p)}, {'c', stored_c(p)}};
  for (auto [letter, matrix] : matrices) {
    if (matrix.ld != 0 && matrix.ld < matrix.columns) {
      return fmt::format("field ld{} must be 0 or at least the length of a stored row", letter);
    }
    if (matrix.stride < 0) return fmt::format("field stride_{} must not be negative", letter);
    std::int64_t extent = 0;
    if (!complete(matrix, p.batch, extent)) {
      return fmt::format("operand {} exceeds the address space: reduce m, n, k, batch, ld{} or stride_{}", letter,
                         letter, letter);
    }
    if (letter == 'c' && !disjoint(matrix, p.batch)) {
      return "field stride_c must keep the matrices of the batch apart: at least (m - 1) * ldc + n, or at least n with "
             "all of them inside one row";
    }
  }
  return {};
}

Layout layout_of(const Problem& p) {
  Matrix a = stored_a(p), b = stored_b(p), c = stored_c(p);
  std::int64_t extent_a = 0, extent_b = 0, extent_c = 0;
  complete(a, p.batch, extent_a);
  complete(b, p.batch, extent_b);
  complete(c, p.batch, extent_c);
  Layout layout{
      .lda = a.ld, .ldb = b.ld, .ldc = c.ld, .stride_a = a.stride, .stride_b = b.stride, .stride_c = c.stride};
  layout.a_row = p.transpose_a ? 1 : a.ld;
  layout.a_column = p.transpose_a ? a.ld : 1;
  layout.b_row = p.transpose_b ? 1 : b.ld;
  layout.b_column = p.transpose_b ? b.ld : 1;
  layout.extent_a = static_cast<std::size_t>(extent_a);
  layout.extent_b = static_cast<std::size_t>(extent_b);
  layout.extent_c = static_cast<std::size_t>(extent_c);
  return layout;
}

}  // namespace hone::gemm
