// What the run-time compiler is told besides a kernel's own options: one of the hiprtc_options_*.cpp, as HONE_GPU says.
#pragma once

#include <string>
#include <vector>

namespace hone::workers {

std::vector<std::string> target_options(const std::string& architecture);

}  // namespace hone::workers
