// The program hone measures in itself where its engines isolate.
#pragma once

#include <string>
#include <vector>

#include <hone/isolation.hpp>

#include "tools/built_in_operation.hpp"

namespace hone::tools {

// EngineOptions::isolation_program of its engines.
inline std::vector<std::string> own_isolation_program() { return {"/proc/self/exe"}; }

// At the top of main.
inline void serve_own_isolation(int argc, char** argv) {
  serve_isolated(argc, argv, [] { return Isolated{{host_device()}, built_in_operations()}; });
}

}  // namespace hone::tools
