// The run-time compiler, HIP's or CUDA's. Needs no device.
#pragma once

#include "workers/compile/compiler.hpp"

namespace hone::workers {

// Throws std::runtime_error with the compiler's words.
Code compile_by_hiprtc(const CompileRequest& request);

}  // namespace hone::workers
