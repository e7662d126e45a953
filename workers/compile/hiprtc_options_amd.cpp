#include "workers/compile/hiprtc_options.hpp"

namespace hone::workers {

std::vector<std::string> target_options(const std::string& architecture) {
  return {"--offload-arch=" + architecture, "-std=c++17", "-O3"};
}

}  // namespace hone::workers
