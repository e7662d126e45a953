// What a GPU allows a work-group: the facts that search spaces of kernels depend on.
#pragma once

#include <cstdint>

namespace hone::hip {

// The defaults hold for every AMD GPU that HIP 5 supports.
struct DeviceLimits {
  std::int64_t wave_size = 64;                // work-items that go in step
  std::int64_t max_work_group = 1024;         // work-items
  std::int64_t local_memory_bytes = 65536;    // of a work-group
  std::int64_t work_group_registers = 65536;  // of 32 bits, of a work-group
  std::int64_t work_item_registers = 256;     // likewise, of a work-item
};

}  // namespace hone::hip
