// What GPU kernels along rows share: a row's columns over its work-items, and a value of all of them. Included by each
// kernel in its namespace.
//
//   ELEMENT    the type of the operands; arithmetic is float
//   ROW_ITEMS  work-items of a row, a power of two
//   ROWS       rows of a work-group
//   VECTOR     neighbours that a work-item loads at once
//   UNROLL     loads in flight

#ifndef KERNEL
#define KERNEL extern "C" __global__
#endif
#ifndef EXPONENTIAL
#define EXPONENTIAL(x) __builtin_expf(x)
#endif
#ifndef LOGARITHM
#define LOGARITHM(x) __builtin_logf(x)
#endif

using Element = ELEMENT;

// Neighbours in memory, aligned as one of them.
struct Neighbours {
  Element element[VECTOR];
};

// Calls `body` with the number and the value of every column of this work-item.
template <class Body>
__device__ void for_each_column(const Element* x, int columns, int item, Body body) {
#pragma unroll UNROLL
  for (int first = item * VECTOR; first < columns; first += ROW_ITEMS * VECTOR) {
    if (first + VECTOR <= columns) {
      Neighbours loaded;
      __builtin_memcpy(&loaded, x + first, sizeof loaded);
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) body(first + v, static_cast<float>(loaded.element[v]));
    } else {
      for (int column = first; column < columns; ++column) body(column, static_cast<float>(x[column]));
    }
  }
}

// Writes what `body` makes of the number and the value of every column of this work-item.
template <class Body>
__device__ void write_each_column(const Element* x, Element* y, int columns, int item, Body body) {
#pragma unroll UNROLL
  for (int first = item * VECTOR; first < columns; first += ROW_ITEMS * VECTOR) {
    if (first + VECTOR <= columns) {
      Neighbours values;
      __builtin_memcpy(&values, x + first, sizeof values);
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        values.element[v] = static_cast<Element>(body(first + v, static_cast<float>(values.element[v])));
      }
      __builtin_memcpy(y + first, &values, sizeof values);
    } else {
      for (int column = first; column < columns; ++column) {
        y[column] = static_cast<Element>(body(column, static_cast<float>(x[column])));
      }
    }
  }
}

// The join of every work-item's value, the same for all of a row and in the same order every time. All work-items of
// the group take part.
template <class Join>
__device__ float join_row(float* joined, int item, float value, Join join) {
  joined[item] = value;
#pragma unroll
  for (int half = ROW_ITEMS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (item < half) joined[item] = join(joined[item], joined[item + half]);
  }
  __syncthreads();
  const float result = joined[0];
  __syncthreads();
  return result;
}
