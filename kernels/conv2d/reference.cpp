#include "kernels/conv2d/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "kernels/conv2d/geometry.hpp"
#include "kernels/element.hpp"

namespace hone::conv2d {
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

// Adds to every sum of an output row what one weight contributes; outside an image is zero.
template <class Element>
void add_tap(const Problem& p, const Geometry& g, const Element* x_row, std::int64_t column, double weight,
             std::vector<double>& sums) {
  for (std::int64_t j = 0; j < g.output_width; ++j) {
    const std::int64_t from = j * p.stride_width - p.pad_width + column * p.dilation_width;
    if (from < 0 || from >= p.width) continue;
    sums[static_cast<std::size_t>(j)] += weight * static_cast<double>(x_row[from * g.x.column]);
  }
}

template <class Element>
void compute(const Problem& p, const Element* x, const Element* weights, Element* y, const Element* bias) {
  const Geometry g = geometry_of(p);
  std::vector<double> sums(static_cast<std::size_t>(g.output_width));
  for (std::int64_t image = 0; image < p.batch; ++image) {
    for (std::int64_t filter = 0; filter < p.filters; ++filter) {
      const std::int64_t first_channel = filter / g.group_filters * g.group_channels;
      for (std::int64_t i = 0; i < g.output_height; ++i) {
        std::fill(sums.begin(), sums.end(), bias != nullptr ? static_cast<double>(bias[filter]) : 0.0);
        for (std::int64_t channel = 0; channel < g.group_channels; ++channel) {
          for (std::int64_t row = 0; row < p.filter_height; ++row) {
            const std::int64_t from = i * p.stride_height - p.pad_height + row * p.dilation_height;
            if (from < 0 || from >= p.height) continue;
            for (std::int64_t column = 0; column < p.filter_width; ++column) {
              const Element* weight = weights + filter * g.weights.image + channel * g.weights.channel +
                                      row * g.weights.row + column * g.weights.column;
              add_tap(p, g, x + image * g.x.image + (first_channel + channel) * g.x.channel + from * g.x.row, column,
                      static_cast<double>(*weight), sums);
            }
          }
        }
        Element* out = y + image * g.y.image + filter * g.y.channel + i * g.y.row;
        for (std::size_t j = 0; j < sums.size(); ++j) {
          out[static_cast<std::int64_t>(j) * g.y.column] = static_cast<Element>(activate(sums[j], p.activation));
        }
      }
    }
  }
}

}  // namespace

void reference(const Problem& p, const std::byte* x, const std::byte* weights, std::byte* y, const std::byte* bias) {
  with_element_type(p.type, [&](auto* element) {
    using Element = std::remove_pointer_t<decltype(element)>;
    compute(p, reinterpret_cast<const Element*>(x), reinterpret_cast<const Element*>(weights),
            reinterpret_cast<Element*>(y), p.bias ? reinterpret_cast<const Element*>(bias) : nullptr);
  });
}

ErrorBound error_bound(const Problem& p) {
  // As of a matrix product (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 4.2). Winograd's
  // transforms of tiles add and subtract neighbours first, which costs small filters a few times the error of the
  // direct sum (Lavin and Gray, arXiv:1509.09308, section 5).
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  constexpr double transforms = 4;
  const auto length = static_cast<double>(geometry_of(p).taps(p));
  const double growth = std::min(std::sqrt(length), 64.0) / 4 + 8;
  ErrorBound bound{.absolute = growth * epsilon * (std::sqrt(length) * transforms + 1) + epsilon * length / 8,
                   .relative = 8 * epsilon};
  if (p.type == f16) {
    bound.relative += 0x1p-10;
    bound.absolute += 0x1p-24;  // the smallest number above 0
  }
  return bound;
}

}  // namespace hone::conv2d
