#include "kernels/layernorm/hip/kernel.hpp"

#include "kernels/hip/row_solver.hpp"
#include "kernels/layernorm/reference.hpp"

namespace hone::layernorm::hip {
namespace {

std::span<const std::byte> precompiled(DataType type, std::string_view architecture) noexcept {
  return type == f16 ? precompiled_f16(architecture) : precompiled_f32(architecture);
}

using Rows = hone::hip::RowOperation<Problem, Arguments>;
constexpr Rows row_operation{"layernorm", &source, &layout_of, &arguments, &precompiled};

}  // namespace

std::optional<Arguments> arguments(const Problem& p, const RowLayout& layout,
                                   const hone::Arguments& operands) noexcept {
  const void* x = operands.get<const void>(0);
  void* y = operands.get<void>(1);
  const void* gain = p.gain ? operands.get<const void>(2) : nullptr;
  const void* shift = p.shift ? operands.get<const void>(3) : nullptr;
  if (!x || !y || (p.gain && !gain) || (p.shift && !shift)) return {};
  return Arguments{.x = x,
                   .y = y,
                   .gain = gain,
                   .shift = shift,
                   .rows = layout.rows,
                   .stride_x = layout.stride_x,
                   .stride_y = layout.stride_y,
                   .columns = static_cast<int>(layout.columns),
                   .root_mean_square = p.root_mean_square ? 1 : 0,
                   .epsilon = p.epsilon};
}

std::shared_ptr<const Solver> rows() {
  return std::make_shared<const hone::hip::TunedRows<Problem, Arguments>>(row_operation);
}
std::shared_ptr<const Solver> direct() {
  return std::make_shared<const hone::hip::PrecompiledRows<Problem, Arguments>>(row_operation);
}

}  // namespace hone::layernorm::hip
