#include "kernels/layernorm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/element.hpp"

namespace hone::layernorm {
namespace {

template <class Element>
void compute(const Problem& p, const Element* x, Element* y, const Element* gain, const Element* shift) {
  const RowLayout layout = layout_of(p);
  const auto columns = static_cast<double>(p.columns);
  for (std::int64_t i = 0; i < p.rows; ++i, x += layout.stride_x, y += layout.stride_y) {
    double mean = 0;
    if (!p.root_mean_square) {
      for (std::int64_t j = 0; j < p.columns; ++j) mean += static_cast<double>(x[j]);
      mean /= columns;
    }
    double squares = 0;
    for (std::int64_t j = 0; j < p.columns; ++j) {
      const double difference = static_cast<double>(x[j]) - mean;
      squares += difference * difference;
    }
    const double factor = 1 / std::sqrt(squares / columns + static_cast<double>(p.epsilon));
    for (std::int64_t j = 0; j < p.columns; ++j) {
      double value = (static_cast<double>(x[j]) - mean) * factor;
      if (p.gain) value *= static_cast<double>(gain[j]);
      if (p.shift) value += static_cast<double>(shift[j]);
      y[j] = static_cast<Element>(value);
    }
  }
}

}  // namespace

Refusal validate(const Problem& p) {
  if (p.type != f32 && p.type != f16) return "field type accepts f32 and f16";
  if (!std::isfinite(p.epsilon) || p.epsilon <= 0) return "field epsilon must be finite and above 0";
  return validate_rows(p.rows, p.columns, p.stride_x, p.stride_y);
}

RowLayout layout_of(const Problem& p) noexcept { return row_layout(p.rows, p.columns, p.stride_x, p.stride_y); }

void reference(const Problem& p, const std::byte* x, std::byte* y, const std::byte* gain, const std::byte* shift) {
  with_element_type(p.type, [&](auto* element) {
    using Element = std::remove_pointer_t<decltype(element)>;
    compute(p, reinterpret_cast<const Element*>(x), reinterpret_cast<Element*>(y),
            reinterpret_cast<const Element*>(gain), reinterpret_cast<const Element*>(shift));
  });
}

ErrorBound error_bound(const Problem& p) {
  // The mean's rounding error moves every element by an absolute amount, which the division then magnifies. Values
  // uniform between -1 and 1 have a deviation of 0.58; that of many comes close to it, that of a few may be anything,
  // with epsilon as the floor. Errors of a sum grow with the square root of its length (Higham, "Accuracy and Stability
  // of Numerical Algorithms", 2002, section 4.2).
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  const double growth = 8 + std::min(std::sqrt(static_cast<double>(p.columns)), 256.0) / 2;
  const double floor = 1 / std::sqrt(static_cast<double>(p.epsilon));
  const double magnified = p.root_mean_square ? 1 : p.columns >= 16 ? std::min(4.0, floor) : floor;
  ErrorBound bound{.absolute = growth * epsilon * magnified + (p.shift ? 2 * epsilon : 0),
                   .relative = growth * epsilon};
  // Where a shift cancels, the error is relative to the terms: of 4 deviations at most, and below sqrt(3) for many.
  if (p.shift) bound.absolute += growth * epsilon * 2;
  if (p.type == f16) {
    bound.relative += 0x1p-10;
    bound.absolute += 0x1p-24;  // the smallest number above 0
  }
  return bound;
}

}  // namespace hone::layernorm
