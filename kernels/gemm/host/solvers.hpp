// The host solvers of the matrix product, one file each.
#pragma once

#include <hone/gemm.hpp>
#include <hone/solver.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/host/host_only.hpp"

namespace hone::gemm::host {

using hone::host::Facts;
using hone::host::refuse_device;

using GemmSolver = SolverFor<Problem>;

// Raised with every change of hone's own code that may change results or times.
inline constexpr const char* kernels_version = "1";

// A library's solver, or null when the library is not there. Each adds what it knows of its library to the facts.
std::shared_ptr<const GemmSolver> openblas(Facts& facts);
std::shared_ptr<const GemmSolver> blis(Facts& facts);
std::shared_ptr<const GemmSolver> onednn(Facts& facts);
std::shared_ptr<const GemmSolver> libxsmm(Facts& facts);
// hone's own: packed panels and register tiles; and without any workspace.
std::shared_ptr<const GemmSolver> blocked(Facts& facts);
std::shared_ptr<const GemmSolver> direct();

// Copies the operands to aligned sizes and lets `solver` do the product, as PyTorch's pad_mm does.
std::shared_ptr<const GemmSolver> padded(std::shared_ptr<const GemmSolver> solver);

// Refuses every device but the host, and every type but f32.
Refusal refuse(const Problem& problem, const Device& device);
// Whether the workspace is within the problem's limit.
bool within_limit(const Problem& problem, std::size_t workspace) noexcept;
inline constexpr const char* workspace_refusal = "workspace_limit is below the scratch that this solver needs";

}  // namespace hone::gemm::host
