#define HONE_LANES 4
#define HONE_REGISTERS 16
#include "kernels/gemm/host/vector_code.hpp"

namespace hone::gemm::host {
const InstructionSet* portable_set() noexcept {
  static const InstructionSet* const set = make_set("portable");
  return set;
}
}  // namespace hone::gemm::host
