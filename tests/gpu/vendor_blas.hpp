// The vendor's matrix product to compare with: cuBLAS or hipBLAS.
#pragma once

#include <hip/hip_runtime_api.h>

#include <hone/gemm.hpp>
#include <hone/solver.hpp>
#include <memory>

namespace hone::testing {

// C = A B in f32 with dense operands, launched on `stream` of the calling thread's device. Null where this build found
// no library. Throws std::runtime_error when the library does not start.
std::shared_ptr<const Invoker> vendor_product(const gemm::Problem& problem, hipStream_t stream);

}  // namespace hone::testing
