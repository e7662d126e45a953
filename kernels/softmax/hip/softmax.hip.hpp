// Softmax along rows for GPUs, see kernels/hip/rows.hip.hpp: the largest element, the sum of the powers, and the powers
// again. Nothing but the result is written.
#include "kernels/hip/rows.hip.hpp"
#include "kernels/softmax/hip/arguments.hpp"

KERNEL void __launch_bounds__(ROW_ITEMS* ROWS) softmax(hone::softmax::hip::Arguments p) {
  __shared__ float shared[ROWS][ROW_ITEMS];
  const int place = static_cast<int>(threadIdx.x) / ROW_ITEMS;
  const int item = static_cast<int>(threadIdx.x) % ROW_ITEMS;
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + place;
  // Work-items behind the last row have no columns, but take part in barriers.
  const int columns = row < p.rows ? p.columns : 0;
  const Element* const x = static_cast<const Element*>(p.x) + row * p.stride_x;

  float largest = -__builtin_inff();
  for_each_column(x, columns, item, [&](int, float value) {
    const float scaled = p.scale * value;
    largest = scaled > largest ? scaled : largest;
  });
  largest = join_row(shared[place], item, largest, [](float a, float b) { return a > b ? a : b; });
  float sum = 0;
  for_each_column(x, columns, item, [&](int, float value) { sum += EXPONENTIAL(p.scale * value - largest); });
  sum = join_row(shared[place], item, sum, [](float a, float b) { return a + b; });

  const float logarithm = LOGARITHM(sum);
  const float factor = 1 / sum;
  Element* const y = static_cast<Element*>(p.y) + row * p.stride_y;
  write_each_column(x, y, columns, item, [&](int, float value) {
    const float difference = p.scale * value - largest;
    return p.logarithm ? difference - logarithm : EXPONENTIAL(difference) * factor;
  });
}
