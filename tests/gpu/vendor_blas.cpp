#include "tests/gpu/vendor_blas.hpp"

#include <hipblas/hipblas.h>

#include <hone/error.hpp>
#include <stdexcept>
#include <type_traits>

namespace hone::testing {
namespace {

struct Destroy {
  void operator()(hipblasHandle_t handle) const noexcept { static_cast<void>(hipblasDestroy(handle)); }
};
using Handle = std::shared_ptr<std::remove_pointer_t<hipblasHandle_t>>;

Handle make_handle(hipStream_t stream) {
  hipblasHandle_t raw = nullptr;
  if (hipblasCreate(&raw) != HIPBLAS_STATUS_SUCCESS) throw std::runtime_error("the vendor's BLAS does not start");
  Handle handle(raw, Destroy{});
  if (hipblasSetStream(raw, stream) != HIPBLAS_STATUS_SUCCESS) {
    throw std::runtime_error("the vendor's BLAS does not take the stream");
  }
  return handle;
}

}  // namespace

std::shared_ptr<const Invoker> vendor_product(const gemm::Problem& p, hipStream_t stream) {
  auto run = [handle = make_handle(stream), m = static_cast<int>(p.m), n = static_cast<int>(p.n),
              k = static_cast<int>(p.k)](Stream&, const Arguments& operands) noexcept -> std::error_code {
    const float one = 1, zero = 0;
    // Its matrices are column-major, where a row-major one is its transpose: C' = B' A'.
    const hipblasStatus_t status =
        hipblasSgemm(handle.get(), HIPBLAS_OP_N, HIPBLAS_OP_N, n, m, k, &one, operands.get<const float>(1), n,
                     operands.get<const float>(0), k, &zero, operands.get<float>(2), n);
    return status == HIPBLAS_STATUS_SUCCESS ? std::error_code() : make_error_code(Errc::launch_failed);
  };
  return make_invoker(std::move(run));
}

}  // namespace hone::testing
