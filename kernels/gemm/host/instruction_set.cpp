#include "kernels/gemm/host/instruction_set.hpp"

namespace hone::gemm::host {

const InstructionSet& instruction_set() noexcept {
  static const InstructionSet* const widest = avx512_set() ? avx512_set() : avx2_set() ? avx2_set() : portable_set();
  return *widest;
}

}  // namespace hone::gemm::host
