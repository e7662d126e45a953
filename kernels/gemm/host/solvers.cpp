#include "kernels/gemm/host/solvers.hpp"

namespace hone::gemm::host {

Refusal refuse(const Problem& problem, const Device& device) {
  if (problem.type != f32) return "this solver's type is f32";
  return refuse_device(device);
}

bool within_limit(const Problem& problem, std::size_t workspace) noexcept {
  return problem.workspace_limit < 0 || workspace <= static_cast<std::uint64_t>(problem.workspace_limit);
}

}  // namespace hone::gemm::host
