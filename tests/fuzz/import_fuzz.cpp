// `hone db import`: any line is refused with a reason, or is a change that comes back from its own JSON.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/db_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hone::tools;
  try {
    const auto change = change_of_line({reinterpret_cast<const char*>(data), size});
    const std::string line = to_json(change).dump();
    if (to_json(change_of_line(line)).dump() != line) std::abort();
  } catch (const BadLine&) {
    return 0;
  }
  return 0;
}
