// How inner loops go along a row. Included by files that kernels/host/vector.hpp is for, under the same terms.
#pragma once

#include "kernels/host/vector.hpp"

namespace hone::host {
namespace {

inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// `v` in the first `count` lanes and `other` behind.
inline Vector first_lanes(Vector v, int count, Vector other) {
  Integers lane;
  for (int i = 0; i < lanes; ++i) lane[i] = i;
  return lane < (Integers{} + count) ? v : other;
}

template <int Half = lanes / 2>
inline float largest(Vector v) {
  v = larger(v, swap_halves<Half>(v, Lanes()));
  if constexpr (Half > 1) {
    return largest<Half / 2>(v);
  } else {
    return v[0];
  }
}

// Calls `whole(place, accumulator)` for every full vector of a row, with one of `Unroll` accumulators so that the next
// need not wait for the one before, and `partial(place, count)` for the elements behind them.
template <int Unroll, class Whole, class Partial>
inline void walk(int64_t columns, Whole whole, Partial partial) {
  int64_t j = 0;
  for (; j + Unroll * lanes <= columns; j += Unroll * lanes) {
#pragma GCC unroll 8
    for (int u = 0; u < Unroll; ++u) whole(j + u * lanes, u);
  }
  for (; j + lanes <= columns; j += lanes) whole(j, 0);
  if (j < columns) partial(j, static_cast<int>(columns - j));
}

}  // namespace
}  // namespace hone::host
