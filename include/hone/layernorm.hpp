// Layer normalisation along rows: y = (x - mean) / sqrt(variance + epsilon) * gain + shift.
#pragma once

#include <cstdint>
#include <hone/data_type.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <string_view>

namespace hone::layernorm {

// Mean and variance (divided by the number of columns) are those of each row (Ba, Kiros and Hinton, arXiv:1607.06450).
// With root_mean_square the mean is taken as 0 (Zhang and Sennrich, arXiv:1910.07467). x and y are rows x columns;
// stride_x and stride_y are the distances between rows in elements, 0 stands for dense. Elements of y between its rows
// are not touched. x and y are different memory. Sums are formed in f32 or wider for every type.
// Operands of run: {x, y, gain, shift}; gain and shift are rows of `columns` elements, present when the problem has
// them.
struct Problem {
  static constexpr std::string_view operation = "layernorm";
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DataType type = f32;
  float epsilon = 1e-5F;
  bool root_mean_square = false;
  bool gain = true;
  bool shift = true;
  std::int64_t stride_x = 0;
  std::int64_t stride_y = 0;

  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("rows", self.rows);
    visit("columns", self.columns);
    visit("type", self.type);
    visit("epsilon", self.epsilon);
    visit("root_mean_square", self.root_mean_square);
    visit("gain", self.gain);
    visit("shift", self.shift);
    visit("stride_x", self.stride_x);
    visit("stride_y", self.stride_y);
  }
};

// The operation with every solver of this build: hone's own and oneDNN's. f32 and f16.
std::shared_ptr<const Operation> operation();

}  // namespace hone::layernorm
