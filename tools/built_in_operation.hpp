// The operations that the program hone knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <hone/conv2d.hpp>
#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <hone/layernorm.hpp>
#include <hone/softmax.hpp>

namespace hone::tools {

inline std::vector<std::shared_ptr<const Operation>> built_in_operations() {
  return {gemm::operation(), conv2d::operation(), softmax::operation(), layernorm::operation()};
}

// Throws Error(invalid_option) naming those that there are.
inline std::shared_ptr<const Operation> built_in_operation(const std::string& name) {
  std::string known;
  for (const auto& operation : built_in_operations()) {
    if (name == operation->problem_type().operation()) return operation;
    known += (known.empty() ? "" : ", ") + operation->problem_type().operation();
  }
  throw Error(Errc::invalid_option, fmt::format("there is no operation '{}'; hone has: {}", name, known));
}

}  // namespace hone::tools
