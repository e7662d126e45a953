#include "kernels/softmax/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/element.hpp"

namespace hone::softmax {
namespace {

template <class Element>
void compute(const Problem& p, const Element* x, Element* y) {
  const RowLayout layout = layout_of(p);
  std::vector<double> row(static_cast<std::size_t>(p.columns));
  for (std::int64_t i = 0; i < p.rows; ++i, x += layout.stride_x, y += layout.stride_y) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<double>(p.scale) * static_cast<double>(x[j]);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const double value : row) sum += std::exp(value - largest);
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double value = row[j] - largest;
      y[j] = static_cast<Element>(p.logarithm ? value - std::log(sum) : std::exp(value) / sum);
    }
  }
}

}  // namespace

Refusal validate(const Problem& p) {
  if (p.type != f32 && p.type != f16) return "field type accepts f32 and f16";
  if (!std::isfinite(p.scale)) return "field scale must be finite";
  return validate_rows(p.rows, p.columns, p.stride_x, p.stride_y);
}

RowLayout layout_of(const Problem& p) noexcept { return row_layout(p.rows, p.columns, p.stride_x, p.stride_y); }

void reference(const Problem& p, const std::byte* x, std::byte* y) {
  with_element_type(p.type, [&](auto* element) {
    using Element = std::remove_pointer_t<decltype(element)>;
    compute(p, reinterpret_cast<const Element*>(x), reinterpret_cast<Element*>(y));
  });
}

ErrorBound error_bound(const Problem& p) {
  // An exponent's rounding errors become relative errors of the power: of scale x and of the difference to the largest,
  // at most 2 |scale|. The sum has positive terms, so its relative error is at most columns epsilon and typically the
  // square root of that (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 4.2).
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  const double columns = static_cast<double>(p.columns);
  const double growth = 8 + 4 * std::abs(p.scale) + std::min(std::sqrt(columns), 256.0) / 2;
  ErrorBound bound{.absolute = 1e-37, .relative = growth * epsilon};
  // The same relative errors, absolute in the logarithm, whose own rounding is relative.
  if (p.logarithm) bound = {.absolute = (growth + std::log(columns)) * epsilon, .relative = 4 * epsilon};
  if (p.type == f16) {
    bound.relative += 0x1p-10;
    bound.absolute += 0x1p-24;  // the smallest number above 0
  }
  return bound;
}

}  // namespace hone::softmax
