// Definitions for the compiler as lines of a C++ file.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

namespace hone::testing {

struct DefinitionLines {
  std::string define, undefine;

  // Of "-DNAME=VALUE".
  explicit DefinitionLines(const std::vector<std::string>& definitions) {
    for (const std::string& definition : definitions) {
      const auto equals = definition.find('=');
      const std::string name = definition.substr(2, equals - 2);
      define += fmt::format("#define {} {}\n", name, definition.substr(equals + 1));
      undefine += fmt::format("#undef {}\n", name);
    }
  }
};

}  // namespace hone::testing
