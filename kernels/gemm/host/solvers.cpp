#include <hone/device.hpp>

#include "kernels/gemm/host/solvers.hpp"

namespace hone::gemm::host {

Refusal refuse_device(const Device& device) {
  if (device.name() != "host") return "this solver runs on the host device only";
  return {};
}

bool within_limit(const Problem& problem, std::size_t workspace) noexcept {
  return problem.workspace_limit < 0 || workspace <= static_cast<std::uint64_t>(problem.workspace_limit);
}

}  // namespace hone::gemm::host
