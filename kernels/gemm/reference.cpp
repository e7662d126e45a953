#include "kernels/gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/gemm/layout.hpp"

namespace hone::gemm {
namespace {

double activate(double x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

}  // namespace

void reference(const Problem& p, const float* a, const float* b, float* c, const float* bias) {
  const Layout layout = layout_of(p);
  std::vector<double> sums(static_cast<std::size_t>(p.n));
  std::vector<float> columns;
  for (std::int64_t batch = 0; batch < p.batch;
       ++batch, a += layout.stride_a, b += layout.stride_b, c += layout.stride_c) {
    const float* rows_b = b;
    if (p.transpose_b) {
      // Rows of op(B) side by side, so that the inner loop is a vector loop.
      columns.resize(static_cast<std::size_t>(p.k * p.n));
      for (std::int64_t j = 0; j < p.n; ++j) {
        for (std::int64_t step = 0; step < p.k; ++step)
          columns[static_cast<std::size_t>(step * p.n + j)] = b[j * layout.ldb + step];
      }
      rows_b = columns.data();
    }
    const std::int64_t row_b = p.transpose_b ? p.n : layout.ldb;
    for (std::int64_t i = 0; i < p.m; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t step = 0; step < p.k; ++step) {
        const double factor = a[i * layout.a_row + step * layout.a_column];
        const float* row = rows_b + step * row_b;
        double* target = sums.data();
        for (std::int64_t j = 0; j < p.n; ++j) target[j] += factor * row[j];
      }
      float* row = c + i * layout.ldc;
      for (std::int64_t j = 0; j < p.n; ++j) {
        double value = p.alpha * sums[static_cast<std::size_t>(j)];
        if (p.beta != 0) value += static_cast<double>(p.beta) * row[j];
        if (bias != nullptr && p.bias) value += bias[j];
        row[j] = static_cast<float>(activate(value, p.activation));
      }
    }
  }
}

ErrorBound error_bound(const Problem& p) {
  // A product of random operands in [-1, 1] has terms of standard deviation 1/3. Rounding errors of a sum in any order
  // are at most k epsilon times the sum of the magnitudes, and typically sqrt(k) epsilon times it (Higham, "Accuracy
  // and Stability of Numerical Algorithms", 2002, section 4.2); the factor 8 covers unlucky orders, and the fused or
  // separate handling of alpha, beta, bias and activation. Activations have a slope below 1.13.
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  const double length = static_cast<double>(p.k);
  const double magnitude = std::abs(p.alpha) * length / 4 + std::abs(p.beta) + (p.bias ? 1 : 0);
  const double growth = std::min(std::sqrt(length), 64.0) / 4 + 8;
  return {.absolute = growth * epsilon * (std::abs(p.alpha) * std::sqrt(length) * 2 + std::abs(p.beta) + 1) +
                      epsilon * magnitude / 2,
          .relative = 8 * epsilon};
}

}  // namespace hone::gemm
