// The matrix product's solvers for GPUs.
#pragma once

#include <hone/solver.hpp>
#include <memory>

namespace hone::gemm::hip {

// The kernel of kernel.hpp, compiled for each configuration.
std::shared_ptr<const Solver> tiled();
// The kernel of direct.hpp, compiled with hone: slow, and ready at once.
std::shared_ptr<const Solver> direct();

}  // namespace hone::gemm::hip
