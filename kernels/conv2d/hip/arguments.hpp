// The argument of the convolution's GPU kernels, the same text on the host and on the device: plain C++ without any
// header.
#pragma once

namespace hone::conv2d::hip {

// Strides in elements of the problem's type; positions are those of all images' outputs, one behind the other.
struct Arguments {
  const void* x;
  const void* weights;
  void* y;
  const void* bias;  // null without
  int x_image, x_channel, x_row, x_column;
  int y_image, y_channel, y_position;
  int weights_channel, weights_row, weights_column;  // within a filter
  int height, width;
  int output_width, image_positions, positions;
  int group_channels, group_filters, taps;
  int filter_height, filter_width;
  int pad_height, pad_width, stride_height, stride_width, dilation_height, dilation_width;
  int groups, activation;
};

}  // namespace hone::conv2d::hip
