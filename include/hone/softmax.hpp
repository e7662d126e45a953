// Softmax along rows: y = e^(scale x) / sum over the row of e^(scale x), or its logarithm.
#pragma once

#include <cstdint>
#include <hone/data_type.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <string_view>

namespace hone::softmax {

// x and y are rows x columns; stride_x and stride_y are the distances between rows in elements, 0 stands for dense.
// Elements of y between its rows are not touched. x and y are different memory. An element of minus infinity (a masked
// one) gives 0; a row without a finite element has no defined result. Sums are formed in f32 or wider for every type.
// Operands of run: {x, y}.
struct Problem {
  static constexpr std::string_view operation = "softmax";
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DataType type = f32;
  float scale = 1;
  bool logarithm = false;
  std::int64_t stride_x = 0;
  std::int64_t stride_y = 0;

  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("rows", self.rows);
    visit("columns", self.columns);
    visit("type", self.type);
    visit("scale", self.scale);
    visit("logarithm", self.logarithm);
    visit("stride_x", self.stride_x);
    visit("stride_y", self.stride_y);
  }
};

// The operation with every solver of this build: hone's own and oneDNN's. f32 and f16.
std::shared_ptr<const Operation> operation();

}  // namespace hone::softmax
