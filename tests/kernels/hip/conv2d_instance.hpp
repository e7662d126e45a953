// Configurations of the convolution's GPU kernel, each compiled for the host.
#pragma once

#include <span>

#include "kernels/conv2d/hip/arguments.hpp"

namespace hone::conv2d::hip {

struct Instance {
  const char* problem;        // text; its filter size, type, layout, bias and activation are compiled in
  const char* configuration;  // text
  void (*conv2d)(Arguments);
};

// Those that write_conv2d_instances chose.
std::span<const Instance> instances();

}  // namespace hone::conv2d::hip
