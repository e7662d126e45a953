// Operands that are rows of equal length: what operations along rows share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/solver.hpp>

namespace hone {

// Rows of x and of y. Strides are the distances between rows in elements, never 0.
struct RowLayout {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride_x = 0;
  std::int64_t stride_y = 0;
  // Elements from the first to behind the last that all rows together touch.
  std::size_t extent_x = 0;
  std::size_t extent_y = 0;

  bool dense() const noexcept { return stride_x == columns && stride_y == columns; }
};

// Why rows with these fields of a problem make no sense; a stride of 0 stands for dense rows.
Refusal validate_rows(std::int64_t rows, std::int64_t columns, std::int64_t stride_x, std::int64_t stride_y);

// The layout of valid rows.
RowLayout row_layout(std::int64_t rows, std::int64_t columns, std::int64_t stride_x, std::int64_t stride_y) noexcept;

}  // namespace hone
