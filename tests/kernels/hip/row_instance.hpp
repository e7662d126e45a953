// Configurations of the GPU kernels along rows, each compiled for the host.
#pragma once

#include <span>

#include "kernels/layernorm/hip/arguments.hpp"
#include "kernels/softmax/hip/arguments.hpp"

namespace hone::hip {

struct RowInstance {
  const char* configuration;  // text
  bool half;                  // f16, else f32
  void (*softmax)(softmax::hip::Arguments);
  void (*layernorm)(layernorm::hip::Arguments);
};

// Those that write_row_instances chose.
std::span<const RowInstance> row_instances();

}  // namespace hone::hip
