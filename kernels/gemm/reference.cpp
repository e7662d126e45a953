#include "kernels/gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "kernels/element.hpp"
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

constexpr std::int64_t rows_together = 4;

// sums[row][j] += a[row] b[j], over all steps of k; B's rows are contiguous. Rows share what is read of B.
inline __attribute__((always_inline)) void accumulate(const Problem& p, const Layout& layout, const float* a,
                                                      const float* b, std::int64_t b_row, std::int64_t rows,
                                                      double* sums) noexcept {
  double* const s0 = sums;
  double* const s1 = s0 + p.n;
  double* const s2 = s1 + p.n;
  double* const s3 = s2 + p.n;
  for (std::int64_t step = 0; step < p.k; ++step, a += layout.a_column, b += b_row) {
    const double f0 = a[0];
    const double f1 = rows > 1 ? a[layout.a_row] : 0;
    const double f2 = rows > 2 ? a[2 * layout.a_row] : 0;
    const double f3 = rows > 3 ? a[3 * layout.a_row] : 0;
#pragma GCC ivdep
    for (std::int64_t j = 0; j < p.n; ++j) {
      const double x = b[j];
      s0[j] += f0 * x;
      s1[j] += f1 * x;
      s2[j] += f2 * x;
      s3[j] += f3 * x;
    }
  }
}

using Accumulate = void (*)(const Problem&, const Layout&, const float*, const float*, std::int64_t, std::int64_t,
                            double*) noexcept;

void accumulate_anywhere(const Problem& p, const Layout& layout, const float* a, const float* b, std::int64_t b_row,
                         std::int64_t rows, double* sums) noexcept {
  accumulate(p, layout, a, b, b_row, rows, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void accumulate_avx2(const Problem& p, const Layout& layout, const float* a,
                                                         const float* b, std::int64_t b_row, std::int64_t rows,
                                                         double* sums) noexcept {
  accumulate(p, layout, a, b, b_row, rows, sums);
}
#endif

Accumulate choose_accumulate() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &accumulate_avx2;
#endif
  return &accumulate_anywhere;
}

// B^T with rows side by side.
void transpose(const Problem& p, const float* b, std::int64_t ldb, std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(p.k * p.n));
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t step = 0; step < p.k; ++step) to[static_cast<std::size_t>(step * p.n + j)] = b[j * ldb + step];
  }
}

const float* as_floats(const float* values, std::size_t, std::vector<float>&) { return values; }
const float* as_floats(const Half* values, std::size_t count, std::vector<float>& wide) {
  wide.assign(values, values + count);
  return wide.data();
}

template <class Element>
void compute(const Problem& p, const Layout& layout, const float* a, const float* b, Element* c, const Element* bias) {
  static const Accumulate accumulate_rows = choose_accumulate();
  std::vector<double> sums(static_cast<std::size_t>(rows_together * p.n));
  std::vector<float> transposed;
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const float* rows_b = b + batch * layout.stride_b;
    if (p.transpose_b) {
      transpose(p, rows_b, layout.ldb, transposed);
      rows_b = transposed.data();
    }
    for (std::int64_t first = 0; first < p.m; first += rows_together) {
      const std::int64_t rows = std::min(rows_together, p.m - first);
      std::fill(sums.begin(), sums.end(), 0.0);
      accumulate_rows(p, layout, a + batch * layout.stride_a + first * layout.a_row, rows_b,
                      p.transpose_b ? p.n : layout.ldb, rows, sums.data());
      for (std::int64_t i = 0; i < rows; ++i) {
        Element* row = c + batch * layout.stride_c + (first + i) * layout.ldc;
        for (std::int64_t j = 0; j < p.n; ++j) {
          double value = p.alpha * sums[static_cast<std::size_t>(i * p.n + j)];
          if (p.beta != 0) value += static_cast<double>(p.beta) * static_cast<double>(row[j]);
          if (bias != nullptr) value += static_cast<double>(bias[j]);
          row[j] = static_cast<Element>(activate(value, p.activation));
        }
      }
    }
  }
}

}  // namespace

void reference(const Problem& p, const std::byte* a, const std::byte* b, std::byte* c, const std::byte* bias) {
  with_element_type(p.type, [&](auto* element) {
    using Element = std::remove_pointer_t<decltype(element)>;
    const Layout layout = layout_of(p);
    std::vector<float> wide_a, wide_b;
    compute(p, layout, as_floats(reinterpret_cast<const Element*>(a), layout.extent_a, wide_a),
            as_floats(reinterpret_cast<const Element*>(b), layout.extent_b, wide_b), reinterpret_cast<Element*>(c),
            p.bias ? reinterpret_cast<const Element*>(bias) : nullptr);
  });
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
  ErrorBound bound{.absolute = growth * epsilon * (std::abs(p.alpha) * std::sqrt(length) * 2 + std::abs(p.beta) + 1) +
                               epsilon * magnitude / 2,
                   .relative = 8 * epsilon};
  if (p.type == f16) {
    bound.relative += 0x1p-10;
    bound.absolute += 0x1p-24;  // the smallest number above 0
  }
  return bound;
}

}  // namespace hone::gemm
