#define HONE_LANES 4
#define HONE_REGISTERS 16
#include "kernels/softmax/host/row_code.hpp"

namespace hone::softmax::host {
const RowKernels* portable_rows() noexcept {
  static const RowKernels* const set = make_rows("portable");
  return set;
}
}  // namespace hone::softmax::host
