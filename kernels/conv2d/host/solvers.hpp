// The host solvers of the convolution, one file each.
#pragma once

#include <hone/conv2d.hpp>
#include <hone/solver.hpp>
#include <memory>

#include "kernels/host/host_only.hpp"

namespace hone::conv2d::host {

using hone::host::Facts;
using hone::host::refuse_device;

using Conv2dSolver = SolverFor<Problem>;

// Raised with every change of hone's own code that may change results or times.
inline constexpr const char* kernels_version = "1";

// A plain loop: every type and layout, no workspace.
std::shared_ptr<const Conv2dSolver> direct();

// Gathers what each output position sees into a column of a matrix (im2col: Chellapilla, Puri and Simard, "High
// performance convolutional neural networks for document processing", 2006) and lets one of gemm's solvers multiply it
// by the weights. "im2col_<gemm>"; its search space is the gemm solver's.
std::shared_ptr<const Conv2dSolver> gathered(std::shared_ptr<const Solver> gemm);

// oneDNN's. Each adds what it knows of the library to the facts.
std::shared_ptr<const Conv2dSolver> onednn_direct(Facts& facts);
std::shared_ptr<const Conv2dSolver> onednn_winograd(Facts& facts);

inline constexpr const char* f32_refusal = "this solver's type is f32";
inline constexpr const char* workspace_refusal = "workspace_limit is below the scratch that this solver needs";

}  // namespace hone::conv2d::host
