// The convolution of images with filters, as neural networks mean it (a cross-correlation), one or many groups.
#pragma once

#include <array>
#include <cstdint>
#include <hone/activation.hpp>
#include <hone/data_type.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <string_view>

namespace hone::conv2d {

// nchw: x is batch x channels x height x width, the weights are filters x (channels / groups) x filter_height x
// filter_width, y is batch x filters x output height x output width. nhwc: the channels are innermost in all three:
// batch x height x width x channels, filters x filter_height x filter_width x (channels / groups), and so on. All are
// dense.
enum class ImageLayout : std::uint8_t { nchw, nhwc };

constexpr std::array<std::string_view, 2> symbols(ImageLayout) noexcept { return {"nchw", "nhwc"}; }

// y = activation(x * weights + bias). pad_ rows and columns of zeros are on both sides of an image. The output's height
// is (height + 2 pad_height - dilation_height (filter_height - 1) - 1) / stride_height + 1, rounded down; the width
// likewise. Filters of group g see the channels of group g only. Sums are formed in f32 or wider for every type.
// Operands of run: {x, weights, y} or {x, weights, y, bias}, bias of one element a filter.
struct Problem {
  static constexpr std::string_view operation = "conv2d";
  std::int64_t batch = 1;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t filters = 0;
  std::int64_t filter_height = 0;
  std::int64_t filter_width = 0;
  DataType type = f32;
  ImageLayout layout = ImageLayout::nchw;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t dilation_height = 1;
  std::int64_t dilation_width = 1;
  std::int64_t groups = 1;
  bool bias = false;
  Activation activation = Activation::none;
  // Bytes of scratch that a solution may use; negative for no limit.
  std::int64_t workspace_limit = -1;

  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("batch", self.batch);
    visit("channels", self.channels);
    visit("height", self.height);
    visit("width", self.width);
    visit("filters", self.filters);
    visit("filter_height", self.filter_height);
    visit("filter_width", self.filter_width);
    visit("type", self.type);
    visit("layout", self.layout);
    visit("pad_height", self.pad_height);
    visit("pad_width", self.pad_width);
    visit("stride_height", self.stride_height);
    visit("stride_width", self.stride_width);
    visit("dilation_height", self.dilation_height);
    visit("dilation_width", self.dilation_width);
    visit("groups", self.groups);
    visit("bias", self.bias);
    visit("activation", self.activation);
    visit("workspace_limit", self.workspace_limit);
  }
};

// The operation with every solver of this build: products of gathered images by gemm's solvers, oneDNN's direct and
// Winograd algorithms, and a plain loop on the host; hone's own kernels on GPUs. f32 and f16.
std::shared_ptr<const Operation> operation();

}  // namespace hone::conv2d
