#if defined(__AVX512F__)
#define HONE_LANES 16
#define HONE_REGISTERS 32
#include "kernels/softmax/host/row_code.hpp"

namespace hone::softmax::host {
const RowKernels* avx512_rows() noexcept {
  static const RowKernels* const set = __builtin_cpu_supports("avx512f") ? make_rows("avx512") : nullptr;
  return set;
}
}  // namespace hone::softmax::host
#else
#include "kernels/softmax/host/row_kernels.hpp"

namespace hone::softmax::host {
const RowKernels* avx512_rows() noexcept { return nullptr; }
}  // namespace hone::softmax::host
#endif
