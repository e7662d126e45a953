// The operations that the program hone knows.
#pragma once

#include <memory>
#include <string>

#include <fmt/format.h>

#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <hone/layernorm.hpp>
#include <hone/softmax.hpp>

namespace hone::tools {

// Throws Error(invalid_option) naming those that there are.
inline std::shared_ptr<const Operation> built_in_operation(const std::string& name) {
  std::string known;
  for (const auto& make : {&gemm::operation, &softmax::operation, &layernorm::operation}) {
    auto operation = make();
    if (name == operation->problem_type().operation()) return operation;
    known += (known.empty() ? "" : ", ") + operation->problem_type().operation();
  }
  throw Error(Errc::invalid_option, fmt::format("there is no operation '{}'; hone has: {}", name, known));
}

}  // namespace hone::tools
