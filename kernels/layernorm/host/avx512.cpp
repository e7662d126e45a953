#if defined(__AVX512F__)
#define HONE_LANES 16
#define HONE_REGISTERS 32
#include "kernels/layernorm/host/row_code.hpp"

namespace hone::layernorm::host {
const RowKernels* avx512_rows() noexcept {
  static const RowKernels* const set = __builtin_cpu_supports("avx512f") ? make_rows("avx512") : nullptr;
  return set;
}
}  // namespace hone::layernorm::host
#else
#include "kernels/layernorm/host/row_kernels.hpp"

namespace hone::layernorm::host {
const RowKernels* avx512_rows() noexcept { return nullptr; }
}  // namespace hone::layernorm::host
#endif
