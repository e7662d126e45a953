// The argument of softmax's GPU kernel, the same text on the host and on the device: plain C++ without any header.
#pragma once

namespace hone::softmax::hip {

struct Arguments {
  const void* x;
  void* y;
  long long rows;
  long long stride_x, stride_y;  // elements
  int columns;
  int logarithm;
  float scale;
};

}  // namespace hone::softmax::hip
