// What to launch: a kernel's name and its geometry.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone::hip {

struct KernelLaunch {
  std::string_view kernel;                          // the name in the code object
  std::array<std::uint32_t, 3> groups = {1, 1, 1};  // work-groups along x, y and z
  std::uint32_t work_group = 1;                     // work-items, along x

  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

}  // namespace hone::hip
