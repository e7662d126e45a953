#include "kernels/gemm/host/solvers.hpp"

namespace hone::gemm::host {

bool within_limit(const Problem& problem, std::size_t workspace) noexcept {
  return problem.workspace_limit < 0 || workspace <= static_cast<std::uint64_t>(problem.workspace_limit);
}

}  // namespace hone::gemm::host
