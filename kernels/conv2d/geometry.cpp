#include "kernels/conv2d/geometry.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

namespace hone::conv2d {
namespace {

// Byte offsets must fit a signed 64-bit integer.
constexpr std::int64_t max_elements = std::numeric_limits<std::int64_t>::max() / 8;
// Padded sizes and dilated filters are sums and products of such.
constexpr std::int64_t max_size = std::int64_t{1} << 30;

bool fits(std::initializer_list<std::int64_t> sizes) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product) || product > max_elements) return false;
  }
  return true;
}

std::int64_t output_size(std::int64_t size, std::int64_t filter, std::int64_t pad, std::int64_t stride,
                         std::int64_t dilation) noexcept {
  const std::int64_t room = size + 2 * pad - dilation * (filter - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

ImageStrides strides_of(ImageLayout layout, std::int64_t channels, std::int64_t height, std::int64_t width) noexcept {
  if (layout == ImageLayout::nchw) return {channels * height * width, height * width, width, 1};
  return {channels * height * width, 1, width * channels, channels};
}

Refusal validate_sizes(const Problem& p) {
  const std::pair<std::string_view, std::int64_t> positive[] = {
      {"batch", p.batch},
      {"channels", p.channels},
      {"height", p.height},
      {"width", p.width},
      {"filters", p.filters},
      {"filter_height", p.filter_height},
      {"filter_width", p.filter_width},
      {"stride_height", p.stride_height},
      {"stride_width", p.stride_width},
      {"dilation_height", p.dilation_height},
      {"dilation_width", p.dilation_width},
      {"groups", p.groups},
  };
  for (const auto& [name, value] : positive) {
    if (value <= 0) return fmt::format("field {} must be positive", name);
    if (value > max_size) return fmt::format("field {} must be at most 2^30", name);
  }
  for (const auto& [name, value] : {std::pair("pad_height", p.pad_height), std::pair("pad_width", p.pad_width)}) {
    if (value < 0) return fmt::format("field {} must not be negative", name);
    if (value > max_size) return fmt::format("field {} must be at most 2^30", name);
  }
  return {};
}

}  // namespace

Refusal validate(const Problem& p) {
  if (p.type != f32 && p.type != f16) return "field type accepts f32 and f16";
  if (static_cast<std::size_t>(p.layout) >= symbols(ImageLayout{}).size()) return "field layout accepts nchw and nhwc";
  if (static_cast<std::size_t>(p.activation) >= symbols(Activation{}).size()) {
    return "field activation accepts none, relu and gelu";
  }
  if (Refusal refusal = validate_sizes(p)) return refusal;
  if (p.channels % p.groups != 0) return "field channels must be a multiple of groups";
  if (p.filters % p.groups != 0) return "field filters must be a multiple of groups";
  const std::int64_t output_height =
      output_size(p.height, p.filter_height, p.pad_height, p.stride_height, p.dilation_height);
  const std::int64_t output_width = output_size(p.width, p.filter_width, p.pad_width, p.stride_width, p.dilation_width);
  if (output_height == 0) return "field filter_height, dilated, must fit into height and pad_height on both sides";
  if (output_width == 0) return "field filter_width, dilated, must fit into width and pad_width on both sides";
  if (!fits({p.batch, p.channels, p.height, p.width})) {
    return "operand x exceeds the address space: reduce batch, channels, height or width";
  }
  if (!fits({p.filters, p.channels / p.groups, p.filter_height, p.filter_width})) {
    return "operand weights exceeds the address space: reduce filters, channels, filter_height or filter_width";
  }
  if (!fits({p.batch, p.filters, output_height, output_width})) {
    return "operand y exceeds the address space: reduce batch, filters, height or width";
  }
  return {};
}

Geometry geometry_of(const Problem& p) noexcept {
  Geometry g;
  g.output_height = output_size(p.height, p.filter_height, p.pad_height, p.stride_height, p.dilation_height);
  g.output_width = output_size(p.width, p.filter_width, p.pad_width, p.stride_width, p.dilation_width);
  g.group_channels = p.channels / p.groups;
  g.group_filters = p.filters / p.groups;
  g.x = strides_of(p.layout, p.channels, p.height, p.width);
  g.y = strides_of(p.layout, p.filters, g.output_height, g.output_width);
  g.weights = strides_of(p.layout, g.group_channels, p.filter_height, p.filter_width);
  g.x_count = static_cast<std::size_t>(p.batch * g.x.image);
  g.y_count = static_cast<std::size_t>(p.batch * g.y.image);
  g.weights_count = static_cast<std::size_t>(p.filters * g.weights.image);
  return g;
}

}  // namespace hone::conv2d
