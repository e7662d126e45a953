#include "kernels/softmax/hip/kernel.hpp"

#include "kernels/hip/row_solver.hpp"
#include "kernels/softmax/reference.hpp"

namespace hone::softmax::hip {
namespace {

std::span<const std::byte> precompiled(DataType type, std::string_view architecture) noexcept {
  return type == f16 ? precompiled_f16(architecture) : precompiled_f32(architecture);
}

using Rows = hone::hip::RowOperation<Problem, Arguments>;
constexpr Rows row_operation{"softmax", &source, &layout_of, &arguments, &precompiled};

}  // namespace

std::optional<Arguments> arguments(const Problem& p, const RowLayout& layout,
                                   const hone::Arguments& operands) noexcept {
  const void* x = operands.get<const void>(0);
  void* y = operands.get<void>(1);
  if (!x || !y) return {};
  return Arguments{.x = x,
                   .y = y,
                   .rows = layout.rows,
                   .stride_x = layout.stride_x,
                   .stride_y = layout.stride_y,
                   .columns = static_cast<int>(layout.columns),
                   .logarithm = p.logarithm ? 1 : 0,
                   .scale = p.scale};
}

std::shared_ptr<const Solver> rows() {
  return std::make_shared<const hone::hip::TunedRows<Problem, Arguments>>(row_operation);
}
std::shared_ptr<const Solver> direct() {
  return std::make_shared<const hone::hip::PrecompiledRows<Problem, Arguments>>(row_operation);
}

}  // namespace hone::softmax::hip
