#include "kernels/row_layout.hpp"

#include <fmt/format.h>

#include <limits>
#include <string_view>
#include <utility>

namespace hone {
namespace {

// Byte offsets must fit a signed 64-bit integer.
constexpr std::int64_t max_elements = std::numeric_limits<std::int64_t>::max() / 8;

// False when the extent does not fit.
bool extent_of(std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t& extent) noexcept {
  if (__builtin_mul_overflow(rows - 1, stride, &extent)) return false;
  return !__builtin_add_overflow(extent, columns, &extent) && extent <= max_elements;
}

}  // namespace

Refusal validate_rows(std::int64_t rows, std::int64_t columns, std::int64_t stride_x, std::int64_t stride_y) {
  if (rows <= 0) return "field rows must be positive";
  if (columns <= 0) return "field columns must be positive";
  for (const auto& [letter, stride] : {std::pair('x', stride_x), std::pair('y', stride_y)}) {
    if (stride != 0 && stride < columns) return fmt::format("field stride_{} must be 0 or at least columns", letter);
    std::int64_t extent = 0;
    if (!extent_of(rows, columns, stride != 0 ? stride : columns, extent)) {
      return fmt::format("operand {} exceeds the address space: reduce rows, columns or stride_{}", letter, letter);
    }
  }
  return {};
}

RowLayout row_layout(std::int64_t rows, std::int64_t columns, std::int64_t stride_x, std::int64_t stride_y) noexcept {
  RowLayout layout{.rows = rows,
                   .columns = columns,
                   .stride_x = stride_x != 0 ? stride_x : columns,
                   .stride_y = stride_y != 0 ? stride_y : columns};
  std::int64_t extent = 0;
  extent_of(rows, columns, layout.stride_x, extent);
  layout.extent_x = static_cast<std::size_t>(extent);
  extent_of(rows, columns, layout.stride_y, extent);
  layout.extent_y = static_cast<std::size_t>(extent);
  return layout;
}

}  // namespace hone
