// The softmax of one row in vector code, compiled once for each instruction set: see kernels/host/vector.hpp.
#pragma once

#include "kernels/host/vector_walk.hpp"
#include "kernels/softmax/host/row_kernels.hpp"

namespace hone::softmax::host {
namespace {

using namespace hone::host;

// Below every finite float, and finite: minus infinity less itself is no number.
constexpr float lowest = -3.402823466e+38F;

// e^x for x <= 0, and 0 where it is too small for a normal number.
inline Vector power(Vector x) { return x < -87.0F ? Vector{} : exponential(x); }

template <int Unroll>
inline float largest_of(const Row& row) {
  Vector most[Unroll];
  for (Vector& v : most) v = broadcast(lowest);
  walk<Unroll>(
      row.columns,
      [&](int64_t j, int u) __attribute__((always_inline)) { most[u] = larger(most[u], load(row.x + j) * row.scale); },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        const Vector x = load_partial(row.x + j, count) * row.scale;
        most[0] = larger(most[0], first_lanes(x, count, most[0]));
      });
  for (int u = 1; u < Unroll; ++u) most[0] = larger(most[0], most[u]);
  return largest(most[0]);
}

// The sum of e^(scale x - most); with Store each power goes to y.
template <int Unroll, bool Store>
inline float sum_of_powers(const Row& row, float most) {
  Vector sums[Unroll] = {};
  walk<Unroll>(
      row.columns,
      [&](int64_t j, int u) __attribute__((always_inline)) {
        const Vector value = power(load(row.x + j) * row.scale - most);
        if (Store) store(row.y + j, value);
        sums[u] += value;
      },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        const Vector value = power(load_partial(row.x + j, count) * row.scale - most);
        if (Store) store_partial(row.y + j, value, count);
        sums[0] += first_lanes(value, count, Vector{});
      });
  for (int u = 1; u < Unroll; ++u) sums[0] += sums[u];
  return sum(sums[0]);
}

// y = function(scale x).
template <int Unroll, class Function>
inline void map(const Row& row, Function function) {
  walk<Unroll>(
      row.columns,
      [&](int64_t j, int) __attribute__((always_inline)) { store(row.y + j, function(load(row.x + j) * row.scale)); },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        store_partial(row.y + j, function(load_partial(row.x + j, count) * row.scale), count);
      });
}

template <int Unroll>
inline void finish(const Row& row, float most, float sum_of_row) {
  if (row.logarithm) {
    const float shift = __builtin_logf(sum_of_row);
    map<Unroll>(
        row, [=](Vector x) __attribute__((always_inline)) { return x - most - shift; });
  } else {
    const float factor = 1 / sum_of_row;
    map<Unroll>(
        row, [=](Vector x) __attribute__((always_inline)) { return power(x - most) * factor; });
  }
}

template <int Unroll>
void store_row(const Row& row) noexcept {
  const float most = largest_of<Unroll>(row);
  // Logarithms need no powers at the end, so there is nothing to store.
  if (row.logarithm) return finish<Unroll>(row, most, sum_of_powers<Unroll, false>(row, most));
  const float factor = 1 / sum_of_powers<Unroll, true>(row, most);
  walk<Unroll>(
      row.columns, [&](int64_t j, int) __attribute__((always_inline)) { store(row.y + j, load(row.y + j) * factor); },
      [&](int64_t j, int count)
          __attribute__((always_inline)) { store_partial(row.y + j, load_partial(row.y + j, count) * factor, count); });
}

template <int Unroll>
void recompute_row(const Row& row) noexcept {
  const float most = largest_of<Unroll>(row);
  finish<Unroll>(row, most, sum_of_powers<Unroll, false>(row, most));
}

template <int Unroll>
void online_row(const Row& row) noexcept {
  Vector most[Unroll];
  for (Vector& v : most) v = broadcast(lowest);
  Vector sums[Unroll] = {};
  const auto take = [&](Vector x, int u) __attribute__((always_inline)) {
    const Vector before = most[u];
    most[u] = larger(before, x);
    sums[u] = sums[u] * power(before - most[u]) + power(x - most[u]);
  };
  walk<Unroll>(
      row.columns, [&](int64_t j, int u) __attribute__((always_inline)) { take(load(row.x + j) * row.scale, u); },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        const Vector x = load_partial(row.x + j, count) * row.scale;
        // Minus infinity adds nothing to a sum.
        take(first_lanes(x, count, broadcast(-__builtin_inff())), 0);
      });
  for (int u = 1; u < Unroll; ++u) {
    const Vector both = larger(most[0], most[u]);
    sums[0] = sums[0] * power(most[0] - both) + sums[u] * power(most[u] - both);
    most[0] = both;
  }
  const float all = largest(most[0]);
  finish<Unroll>(row, all, sum(sums[0] * power(most[0] - all)));
}

template <int Place>
void enter(RowKernels& set) {
  constexpr int unroll = unrolls[Place];
  set.kernels[store_powers][Place] = &store_row<unroll>;
  set.kernels[recompute][Place] = &recompute_row<unroll>;
  set.kernels[online][Place] = &online_row<unroll>;
  if constexpr (Place > 0) enter<Place - 1>(set);
}

const RowKernels* make_rows(const char* name) {
  static RowKernels set;
  set.name = name;
  enter<unroll_count - 1>(set);
  return &set;
}

}  // namespace
}  // namespace hone::softmax::host
