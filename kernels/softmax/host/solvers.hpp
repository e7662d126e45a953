// The host solvers of softmax, one file each.
#pragma once

#include <hone/softmax.hpp>
#include <hone/solver.hpp>
#include <memory>

#include "kernels/host/host_only.hpp"

namespace hone::softmax::host {

using hone::host::Facts;
using hone::host::refuse_device;

using SoftmaxSolver = SolverFor<Problem>;

// Raised with every change of hone's own code that may change results or times.
inline constexpr const char* kernels_version = "1";

// hone's own: vector code for f32 with a choice of algorithms; and a plain loop for every problem.
std::shared_ptr<const SoftmaxSolver> rows(Facts& facts);
std::shared_ptr<const SoftmaxSolver> direct();
// Adds what it knows of the library to the facts.
std::shared_ptr<const SoftmaxSolver> onednn(Facts& facts);

}  // namespace hone::softmax::host
