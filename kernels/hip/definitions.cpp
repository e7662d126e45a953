#include "kernels/hip/definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace hone::hip {

std::string element_definition(DataType type) {
  return fmt::format("-DELEMENT={}", type == f16 ? "_Float16" : "float");
}

void add_definitions(std::vector<std::string>& definitions, std::span<const std::string> names,
                     const Configuration& configuration) {
  for (const std::string& name : names) {
    std::string macro = name;
    std::transform(macro.begin(), macro.end(), macro.begin(), [](unsigned char c) { return std::toupper(c); });
    definitions.push_back(fmt::format("-D{}={}", macro, configuration.at(name)));
  }
}

}  // namespace hone::hip
