#include "workers/compile/hiprtc_options.hpp"

namespace hone::workers {

// NVRTC always optimises.
std::vector<std::string> target_options(const std::string& architecture) {
  return {"--gpu-architecture=" + architecture, "-std=c++17"};
}

}  // namespace hone::workers
