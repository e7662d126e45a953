// The operations that the program hone knows.
#pragma once

#include <memory>
#include <string>

#include <fmt/format.h>

#include <hone/error.hpp>
#include <hone/gemm.hpp>

namespace hone::tools {

// Throws Error(invalid_option) naming those that there are.
inline std::shared_ptr<const Operation> built_in_operation(const std::string& name) {
  auto operation = gemm::operation();
  if (name != operation->problem_type().operation()) {
    throw Error(Errc::invalid_option, fmt::format("there is no operation '{}'; hone has: gemm", name));
  }
  return operation;
}

}  // namespace hone::tools
