// The argument of layer normalisation's GPU kernel, the same text on the host and on the device: plain C++ without any
// header.
#pragma once

namespace hone::layernorm::hip {

struct Arguments {
  const void* x;
  void* y;
  const void* gain;   // null without
  const void* shift;  // null without
  long long rows;
  long long stride_x, stride_y;  // elements
  int columns;
  int root_mean_square;
  float epsilon;
};

}  // namespace hone::layernorm::hip
