#if defined(__AVX2__) && defined(__FMA__)
#define HONE_LANES 8
#define HONE_REGISTERS 16
#include "kernels/softmax/host/row_code.hpp"

namespace hone::softmax::host {
const RowKernels* avx2_rows() noexcept {
  static const RowKernels* const set =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? make_rows("avx2") : nullptr;
  return set;
}
}  // namespace hone::softmax::host
#else
#include "kernels/softmax/host/row_kernels.hpp"

namespace hone::softmax::host {
const RowKernels* avx2_rows() noexcept { return nullptr; }
}  // namespace hone::softmax::host
#endif
