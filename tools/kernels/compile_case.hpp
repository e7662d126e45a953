// What is compiled to know that the GPU kernels compile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/hip/device_limits.hpp"
#include "kernels/hip/kernel_launch.hpp"

namespace hone::tools {

// One configuration of one kernel.
struct CompileCase {
  std::string kernel;  // gemm, ...
  std::string problem;
  std::string configuration;
  bool is_default = false;
  std::string_view source;
  std::vector<std::string> definitions;
  std::vector<hip::KernelLaunch> launches;
  std::int64_t local_memory_bytes = 0;  // as the kernel's description says
};

// A GPU architecture that hone is compiled for, and what it allows.
struct Target {
  std::string architecture;
  hip::DeviceLimits limits;
  bool has_facts = true;  // whether its code says what kernels/hip/code_object.hpp reads
};

// Those of AMD's GPUs or of NVIDIA's, as HONE_GPU says: HONE_GPU_ARCHITECTURES.
std::vector<Target> targets();
// One of them; throws Error(invalid_option) naming them.
Target find_target(const std::string& architecture);

// The kernels' names.
std::vector<std::string> kernel_names();

enum class Extent { defaults, sample, all };

// For one kernel on a target: the defaults of typical problems, then nothing else, a sample of at least 200
// configurations that covers all pairs of values, or every configuration of the space; types, transposes and the rest
// of a problem's class in turn. Throws Error(invalid_option) on an unknown kernel.
std::vector<CompileCase> compile_cases(const std::string& kernel, const Target& target, Extent extent);

}  // namespace hone::tools
