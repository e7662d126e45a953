// Vectors of floats by GCC's extensions: what inner loops of host kernels share, compiled once for each instruction
// set.
//
// Only for files that are compiled for one instruction set each, with HONE_LANES (floats of a vector) and
// HONE_REGISTERS (vectors) defined: everything here has internal linkage and nothing of the standard library's code is
// used; otherwise the linker could pick a copy of an inline function that other processors cannot run.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <utility>

namespace hone::host {
namespace {

using std::int64_t;

constexpr int lanes = HONE_LANES;
constexpr int registers = HONE_REGISTERS;
using Vector = float __attribute__((vector_size(lanes * 4)));
using Integers = std::int32_t __attribute__((vector_size(lanes * 4)));

inline Vector broadcast(float x) { return x - Vector{}; }

inline Vector load(const float* p) {
  Vector v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline void store(float* p, Vector v) { __builtin_memcpy(p, &v, sizeof v); }

#if defined(__AVX512F__)
inline Vector load_partial(const float* p, int count) {
  return (Vector)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), p);
}
inline void store_partial(float* p, Vector v, int count) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << count) - 1), (__m512)v);
}
#elif defined(__AVX2__)
inline __m256i first(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vector load_partial(const float* p, int count) { return (Vector)_mm256_maskload_ps(p, first(count)); }
inline void store_partial(float* p, Vector v, int count) { _mm256_maskstore_ps(p, first(count), (__m256)v); }
#else
inline Vector load_partial(const float* p, int count) {
  Vector v{};
  for (int i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
inline void store_partial(float* p, Vector v, int count) {
  for (int i = 0; i < count; ++i) p[i] = v[i];
}
#endif

using Lanes = std::make_integer_sequence<int, lanes>;

template <int Half, int... Lane>
inline Vector swap_halves(Vector v, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(v, v, (Lane ^ Half)...);
}

// By halves.
template <int Half = lanes / 2>
inline float sum(Vector v) {
  v += swap_halves<Half>(v, Lanes());
  if constexpr (Half > 1) {
    return sum<Half / 2>(v);
  } else {
    return v[0];
  }
}

// e^x to about one unit in the last place: 2^n by the exponent field, times a Taylor polynomial for |r| <= ln 2 / 2.
inline Vector exponential(Vector x) {
  const Vector highest = broadcast(88.0F), lowest = broadcast(-87.0F);
  x = x > highest ? highest : x;
  x = x < lowest ? lowest : x;
  const Vector scaled = x * 1.44269504F;
  const Vector half = scaled < 0 ? broadcast(-0.5F) : broadcast(0.5F);
  const Integers n = __builtin_convertvector(scaled + half, Integers);
  const Vector whole = __builtin_convertvector(n, Vector);
  const Vector r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
  Vector series = broadcast(1.0F / 5040);
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  return series * (Vector)((n + 127) << 23);
}

}  // namespace
}  // namespace hone::host
