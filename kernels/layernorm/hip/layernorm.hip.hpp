// Layer normalisation along rows for GPUs, see kernels/hip/rows.hip.hpp: the mean, the squares of the differences to
// it, and the result.
#include "kernels/hip/rows.hip.hpp"
#include "kernels/layernorm/hip/arguments.hpp"

KERNEL void __launch_bounds__(ROW_ITEMS* ROWS) layernorm(hone::layernorm::hip::Arguments p) {
  __shared__ float shared[ROWS][ROW_ITEMS];
  const int place = static_cast<int>(threadIdx.x) / ROW_ITEMS;
  const int item = static_cast<int>(threadIdx.x) % ROW_ITEMS;
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + place;
  // Work-items behind the last row have no columns, but take part in barriers.
  const int columns = row < p.rows ? p.columns : 0;
  const Element* const x = static_cast<const Element*>(p.x) + row * p.stride_x;
  const auto add = [](float a, float b) { return a + b; };

  float mean = 0;
  // The same for all work-items.
  if (!p.root_mean_square) {
    float sum = 0;
    for_each_column(x, columns, item, [&](int, float value) { sum += value; });
    mean = join_row(shared[place], item, sum, add) / static_cast<float>(p.columns);
  }
  float squares = 0;
  for_each_column(x, columns, item, [&](int, float value) { squares += (value - mean) * (value - mean); });
  squares = join_row(shared[place], item, squares, add);

  const float factor = 1 / __builtin_sqrtf(squares / static_cast<float>(p.columns) + p.epsilon);
  const Element* const gain = static_cast<const Element*>(p.gain);
  const Element* const shift = static_cast<const Element*>(p.shift);
  Element* const y = static_cast<Element*>(p.y) + row * p.stride_y;
  write_each_column(x, y, columns, item, [&](int column, float value) {
    float result = (value - mean) * factor;
    if (gain) result *= static_cast<float>(gain[column]);
    if (shift) result += static_cast<float>(shift[column]);
    return result;
  });
}
