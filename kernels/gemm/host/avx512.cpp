#if defined(__AVX512F__)
#define HONE_LANES 16
#define HONE_REGISTERS 32
#include "kernels/gemm/host/vector_code.hpp"

namespace hone::gemm::host {
const InstructionSet* avx512_set() noexcept {
  static const InstructionSet* const set = __builtin_cpu_supports("avx512f") ? make_set("avx512") : nullptr;
  return set;
}
}  // namespace hone::gemm::host
#else
#include "kernels/gemm/host/instruction_set.hpp"

namespace hone::gemm::host {
const InstructionSet* avx512_set() noexcept { return nullptr; }
}  // namespace hone::gemm::host
#endif
