// What the machine says of its processor.
#pragma once

#include <cstddef>
#include <hone/environment.hpp>
#include <istream>
#include <vector>

namespace hone::workers::host {

struct Cache {
  int level = 0;
  std::size_t bytes = 0;
};

struct Processor {
  Environment environment;
  std::size_t last_level_cache_bytes = 0;
};

// From the text of /proc/cpuinfo, the processors this process may use, the caches that hold data, and uname's machine.
// What a container or another architecture leaves out is left out of the facts.
Processor describe(std::istream& cpuinfo, unsigned processors, const std::vector<Cache>& caches,
                   const std::string& machine);

// This machine's.
Processor processor();

}  // namespace hone::workers::host
