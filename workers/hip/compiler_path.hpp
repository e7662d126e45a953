// Where the program is that compiles kernels.
#pragma once

#include <string>

namespace hone::hip {

// Beside the library that this code is in, as in a build, or where it is installed seen from there.
std::string compiler_path();

}  // namespace hone::hip
