// The code of the kernel that tells a GPU's load.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hone::hip {

// Compiled with hone for an architecture ("gfx90a"); empty for one that it was not compiled for.
std::span<const std::byte> load_code(std::string_view architecture) noexcept;

}  // namespace hone::hip
