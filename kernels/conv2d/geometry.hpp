// The sizes and strides of a convolution, with everything spelled out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/conv2d.hpp>
#include <hone/solver.hpp>

namespace hone::conv2d {

// An element of an image is at image * image + channel * channel + row * row + column * column, elements throughout.
struct ImageStrides {
  std::int64_t image = 0, channel = 0, row = 0, column = 0;
};

struct Geometry {
  std::int64_t output_height = 0, output_width = 0;
  std::int64_t group_channels = 0, group_filters = 0;
  ImageStrides x, y;
  // image: from filter to filter; channel: within a group.
  ImageStrides weights;
  // Elements of the operands.
  std::size_t x_count = 0, weights_count = 0, y_count = 0;

  // Terms of each sum.
  std::int64_t taps(const Problem& p) const noexcept { return group_channels * p.filter_height * p.filter_width; }
};

// Why the problem makes no sense.
Refusal validate(const Problem& problem);

// The geometry of a valid problem.
Geometry geometry_of(const Problem& problem) noexcept;

}  // namespace hone::conv2d
