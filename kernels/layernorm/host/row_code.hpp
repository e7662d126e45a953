// The normalisation of one row in vector code, compiled once for each instruction set: see kernels/host/vector.hpp.
#pragma once

#include "kernels/host/vector_walk.hpp"
#include "kernels/layernorm/host/row_kernels.hpp"

namespace hone::layernorm::host {
namespace {

using namespace hone::host;

template <int Unroll>
inline float total(Vector (&sums)[Unroll]) {
  for (int u = 1; u < Unroll; ++u) sums[0] += sums[u];
  return sum(sums[0]);
}

template <int Unroll>
inline float mean_of(const Row& row) {
  Vector sums[Unroll] = {};
  walk<Unroll>(
      row.columns, [&](int64_t j, int u) __attribute__((always_inline)) { sums[u] += load(row.x + j); },
      [&](int64_t j, int count) __attribute__((always_inline)) { sums[0] += load_partial(row.x + j, count); });
  return total(sums) / static_cast<float>(row.columns);
}

// The mean of the squares of the differences to `mean`.
template <int Unroll>
inline float mean_square(const Row& row, float mean) {
  Vector squares[Unroll] = {};
  walk<Unroll>(
      row.columns,
      [&](int64_t j, int u) __attribute__((always_inline)) {
        const Vector difference = load(row.x + j) - mean;
        squares[u] += difference * difference;
      },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        const Vector difference = first_lanes(load_partial(row.x + j, count) - mean, count, Vector{});
        squares[0] += difference * difference;
      });
  return total(squares) / static_cast<float>(row.columns);
}

struct Moments {
  float mean, variance;
};

template <int Unroll>
inline Moments shifted_moments(const Row& row) {
  const float origin = row.x[0];
  Vector sums[Unroll] = {}, squares[Unroll] = {};
  const auto take = [&](Vector difference, int u) __attribute__((always_inline)) {
    sums[u] += difference;
    squares[u] += difference * difference;
  };
  walk<Unroll>(
      row.columns, [&](int64_t j, int u) __attribute__((always_inline)) { take(load(row.x + j) - origin, u); },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        take(first_lanes(load_partial(row.x + j, count) - origin, count, Vector{}), 0);
      });
  const auto columns = static_cast<float>(row.columns);
  const float mean = total(sums) / columns;
  const float variance = total(squares) / columns - mean * mean;
  return {origin + mean, variance > 0 ? variance : 0};
}

template <int Unroll, bool Gain, bool Shift>
inline void write(const Row& row, float mean, float factor) {
  walk<Unroll>(
      row.columns,
      [&](int64_t j, int) __attribute__((always_inline)) {
        Vector value = (load(row.x + j) - mean) * factor;
        if (Gain) value *= load(row.gain + j);
        if (Shift) value += load(row.shift + j);
        store(row.y + j, value);
      },
      [&](int64_t j, int count) __attribute__((always_inline)) {
        Vector value = (load_partial(row.x + j, count) - mean) * factor;
        if (Gain) value *= load_partial(row.gain + j, count);
        if (Shift) value += load_partial(row.shift + j, count);
        store_partial(row.y + j, value, count);
      });
}

template <int Unroll>
inline void finish(const Row& row, float mean, float variance) {
  const float factor = 1 / __builtin_sqrtf(variance + row.epsilon);
  if (row.gain) {
    row.shift ? write<Unroll, true, true>(row, mean, factor) : write<Unroll, true, false>(row, mean, factor);
  } else {
    row.shift ? write<Unroll, false, true>(row, mean, factor) : write<Unroll, false, false>(row, mean, factor);
  }
}

template <int Unroll>
void two_pass_row(const Row& row) noexcept {
  const float mean = row.root_mean_square ? 0 : mean_of<Unroll>(row);
  finish<Unroll>(row, mean, mean_square<Unroll>(row, mean));
}

template <int Unroll>
void shifted_row(const Row& row) noexcept {
  if (row.root_mean_square) return two_pass_row<Unroll>(row);
  const Moments moments = shifted_moments<Unroll>(row);
  finish<Unroll>(row, moments.mean, moments.variance);
}

template <int Place>
void enter(RowKernels& set) {
  constexpr int unroll = unrolls[Place];
  set.kernels[two_pass][Place] = &two_pass_row<unroll>;
  set.kernels[shifted][Place] = &shifted_row<unroll>;
  if constexpr (Place > 0) enter<Place - 1>(set);
}

const RowKernels* make_rows(const char* name) {
  static RowKernels set;
  set.name = name;
  enter<unroll_count - 1>(set);
  return &set;
}

}  // namespace
}  // namespace hone::layernorm::host
