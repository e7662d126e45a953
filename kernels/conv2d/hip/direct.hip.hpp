// The convolution for GPUs without anything to choose: one text, compiled with hone for each type, runs every problem.
// A work-item computes an element of y.
//
//   ELEMENT  the type of the operands; sums are float
#include "kernels/conv2d/hip/arguments.hpp"

#ifndef KERNEL
#define KERNEL extern "C" __global__
#endif
#ifndef EXPONENTIAL
#define EXPONENTIAL(x) __builtin_expf(x)
#endif
#include "kernels/hip/activation.hip.hpp"

KERNEL void __launch_bounds__(256) conv2d_direct(hone::conv2d::hip::Arguments p) {
  using Element = ELEMENT;
  const long long element = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const int filters = p.groups * p.group_filters;
  if (element >= static_cast<long long>(p.positions) * filters) return;
  // Neighbours in y are computed by neighbours.
  const bool nhwc = p.y_channel == 1;
  const int filter = static_cast<int>(nhwc ? element % filters : element / p.image_positions % filters);
  const int position =
      static_cast<int>(nhwc ? element / filters
                            : element / p.image_positions / filters * p.image_positions + element % p.image_positions);
  const int image = position / p.image_positions;
  const int inside = position % p.image_positions;
  const int first_row = inside / p.output_width * p.stride_height - p.pad_height;
  const int first_column = inside % p.output_width * p.stride_width - p.pad_width;
  const Element* x =
      static_cast<const Element*>(p.x) + image * p.x_image + filter / p.group_filters * p.group_channels * p.x_channel;
  const Element* weights = static_cast<const Element*>(p.weights) + static_cast<long long>(filter) * p.taps;
  float sum = 0;
  for (int i = 0; i < p.filter_height; ++i) {
    const int row = first_row + i * p.dilation_height;
    if (row < 0 || row >= p.height) continue;
    for (int j = 0; j < p.filter_width; ++j) {
      const int column = first_column + j * p.dilation_width;
      if (column < 0 || column >= p.width) continue;
      const Element* from = x + row * p.x_row + column * p.x_column;
      const Element* weight = weights + i * p.weights_row + j * p.weights_column;
      for (int channel = 0; channel < p.group_channels; ++channel) {
        sum +=
            static_cast<float>(weight[channel * p.weights_channel]) * static_cast<float>(from[channel * p.x_channel]);
      }
    }
  }
  if (p.bias) sum += static_cast<float>(static_cast<const Element*>(p.bias)[filter]);
  static_cast<Element*>(p.y)[image * p.y_image + filter * p.y_channel + inside * p.y_position] =
      static_cast<Element>(activate(p.activation, sum));
}
