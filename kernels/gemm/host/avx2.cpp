#if defined(__AVX2__) && defined(__FMA__)
#define HONE_LANES 8
#define HONE_REGISTERS 16
#include "kernels/gemm/host/vector_code.hpp"

namespace hone::gemm::host {
const InstructionSet* avx2_set() noexcept {
  static const InstructionSet* const set =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? make_set("avx2") : nullptr;
  return set;
}
}  // namespace hone::gemm::host
#else
#include "kernels/gemm/host/instruction_set.hpp"

namespace hone::gemm::host {
const InstructionSet* avx2_set() noexcept { return nullptr; }
}  // namespace hone::gemm::host
#endif
