// Configurations of the matrix product's GPU kernel, each compiled for the host.
#pragma once

#include <span>

#include "kernels/gemm/hip/arguments.hpp"

namespace hone::gemm::hip {

struct Instance {
  const char* problem;        // text; its type, transposes, bias and activation are compiled in
  const char* configuration;  // text
  void (*gemm)(Arguments);
  void (*gemm_join)(Arguments);  // null without split
};

// Those that write_gemm_instances chose.
std::span<const Instance> instances();

}  // namespace hone::gemm::hip
