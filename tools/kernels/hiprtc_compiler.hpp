// HIP's run-time compiler, without a device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/kernels/compile_case.hpp"

namespace hone::tools {

struct CompileResult {
  std::vector<std::byte> code;  // empty when it failed
  std::string log;              // the compiler's words
};

// Whether this build has the compiler.
bool has_hiprtc() noexcept;

CompileResult compile(const CompileCase& item, const std::string& architecture);

}  // namespace hone::tools
