// The inner loops, written once with GCC's vector extensions and compiled once for each instruction set.
//
// Only for the files avx512.cpp, avx2.cpp and portable.cpp: each is compiled with flags of its own, so everything here
// has internal linkage and nothing of the standard library is used; otherwise the linker could pick a copy of an inline
// function that other processors cannot run.
#pragma once

#include "kernels/gemm/host/instruction_set.hpp"
#include "kernels/host/vector.hpp"

namespace hone::gemm::host {
namespace {

using namespace hone::host;

template <bool Partial, int Vectors>
inline Vector load_column(const float* p, int vector, int tail) {
  if constexpr (Partial) {
    if (vector == Vectors - 1) return load_partial(p + vector * lanes, tail);
  }
  return load(p + vector * lanes);
}

template <int Rows, int Vectors, bool PackedA, int Unroll, bool Partial>
void tile(const Tile& t) noexcept {
  Vector sums[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sums[i][j] = Vector{};
  }
  const float* a = t.a;
  const float* b = t.b;
  const int64_t a_row = PackedA ? 1 : t.a_row;
  const int64_t a_step = PackedA ? Rows : t.a_step;
  const int64_t b_step = t.b_step;
  const auto step = [&]() __attribute__((always_inline)) {
    Vector column[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) column[j] = load_column<Partial, Vectors>(b, j, t.tail);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector x = broadcast(a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sums[i][j] += x * column[j];
    }
    a += a_step;
    b += b_step;
  };
  int64_t p = t.k;
  if constexpr (Unroll > 1) {
    for (; p >= Unroll; p -= Unroll) {
#pragma GCC unroll 8
      for (int u = 0; u < Unroll; ++u) step();
    }
  }
  for (; p > 0; --p) step();

  const Vector alpha = broadcast(t.alpha);
  const Vector beta = broadcast(t.beta);
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    float* row = t.c + i * t.ldc;
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      Vector value = alpha * sums[i][j];
      if (t.beta != 0) value += beta * load_column<Partial, Vectors>(row, j, t.tail);
      if (Partial && j == Vectors - 1) {
        store_partial(row + j * lanes, value, t.tail);
      } else {
        store(row + j * lanes, value);
      }
    }
  }
}

// Accumulators, one row of B and, where the set has no broadcasting operand, one element of A.
constexpr bool fits(int rows, int vectors) { return rows * vectors + vectors + (registers < 32 ? 1 : 0) <= registers; }

// Four copies of every checked access would take minutes to compile, and check nothing more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int unroll = 1;
#else
constexpr int unroll = 4;
#endif

template <int Rows, int Vectors, bool PackedA>
void enter(InstructionSet& set) {
  if constexpr (fits(Rows, Vectors)) {
    auto& variants = set.tiles[PackedA ? 1 : 0];
    variants[InstructionSet::plain][Rows - 1][Vectors - 1] = &tile<Rows, Vectors, PackedA, 1, false>;
    variants[InstructionSet::unrolled][Rows - 1][Vectors - 1] = &tile<Rows, Vectors, PackedA, unroll, false>;
    variants[InstructionSet::partial][Rows - 1][Vectors - 1] = &tile<Rows, Vectors, PackedA, 1, true>;
  }
}

template <int Rows>
void enter_rows(InstructionSet& set) {
  enter<Rows, 1, false>(set), enter<Rows, 1, true>(set);
  enter<Rows, 2, false>(set), enter<Rows, 2, true>(set);
  enter<Rows, 3, false>(set), enter<Rows, 3, true>(set);
  enter<Rows, 4, false>(set), enter<Rows, 4, true>(set);
  if constexpr (Rows > 1) enter_rows<Rows - 1>(set);
}

template <int Rows, int Columns>
inline void dot_tile(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
                     float alpha, float beta) {
  Vector sums[Rows][Columns] = {};
  const auto step = [&](int64_t p, auto take) __attribute__((always_inline)) {
    Vector x[Rows];
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) x[i] = take(a + i * lda + p);
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) {
      const Vector y = take(b + j * ldb + p);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) sums[i][j] += x[i] * y;
    }
  };
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes)
    step(
        p, [](const float* from) __attribute__((always_inline)) { return load(from); });
  const int rest = static_cast<int>(k - p);
  if (rest > 0) {
    step(
        p, [rest](const float* from) __attribute__((always_inline)) { return load_partial(from, rest); });
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) {
      float& target = c[i * ldc + j];
      const float value = alpha * sum(sums[i][j]);
      target = beta == 0 ? value : value + beta * target;
    }
  }
}

template <int Rows>
void dot_rows(int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
              float alpha, float beta) {
  constexpr int columns = Rows == 1 ? 4 : registers / (2 * Rows) > 4 ? 4 : registers / (2 * Rows);
  int64_t j = 0;
  for (; j + columns <= n; j += columns) dot_tile<Rows, columns>(k, a, lda, b + j * ldb, ldb, c + j, ldc, alpha, beta);
  for (; j < n; ++j) dot_tile<Rows, 1>(k, a, lda, b + j * ldb, ldb, c + j, ldc, alpha, beta);
}

void dot(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
         int64_t ldc, float alpha, float beta) noexcept {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) dot_rows<4>(n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, alpha, beta);
  for (; i + 2 <= m; i += 2) dot_rows<2>(n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, alpha, beta);
  for (; i < m; ++i) dot_rows<1>(n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, alpha, beta);
}

// Of two rows that are `Half` apart: where bit `Half` of a lane's number is clear, the first result takes the first row
// and the second result the first row's lane `Half` further; elsewhere they take the second row, likewise.
template <int Half, int... Lane>
inline void exchange(Vector& first, Vector& second, std::integer_sequence<int, Lane...>) {
  const Vector a = first, b = second;
  first = __builtin_shufflevector(a, b, ((Lane & Half) != 0 ? Lane - Half + lanes : Lane)...);
  second = __builtin_shufflevector(a, b, ((Lane & Half) != 0 ? Lane + lanes : Lane + Half)...);
}

template <int Half>
inline void exchange_all(Vector (&rows)[lanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if ((i & Half) == 0) exchange<Half>(rows[i], rows[i + Half], Lanes());
  }
  if constexpr (Half > 1) exchange_all<Half / 2>(rows);
}

// Reads `lanes` rows of `lanes` elements and writes them as columns.
inline void transpose_square(const float* from, int64_t from_row, float* to, int64_t to_row) {
  Vector rows[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) rows[i] = load(from + i * from_row);
  exchange_all<lanes / 2>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) store(to + i * to_row, rows[i]);
}

void pack_b(int64_t k, int64_t n, int64_t width, const float* b, int64_t row, int64_t column, float* packed) noexcept {
  for (int64_t j = 0; j < n; j += width, packed += width * k) {
    const int64_t columns = n - j < width ? n - j : width;
    int64_t p = 0;
    if (column == 1 && columns == width) {
      for (; p < k; ++p) {
        for (int64_t v = 0; v < width; v += lanes) store(packed + p * width + v, load(b + p * row + j + v));
      }
    } else if (row == 1 && columns == width) {
      for (; p + lanes <= k; p += lanes) {
        for (int64_t v = 0; v < width; v += lanes) {
          transpose_square(b + p + (j + v) * column, column, packed + p * width + v, width);
        }
      }
    }
    for (; p < k; ++p) {
      float* to = packed + p * width;
      const float* from = b + p * row + j * column;
      for (int64_t c = 0; c < columns; ++c) to[c] = from[c * column];
      for (int64_t c = columns; c < width; ++c) to[c] = 0;
    }
  }
}

void pack_a(int64_t m, int64_t k, int64_t height, const float* a, int64_t row, int64_t column, float* packed) noexcept {
  for (int64_t i = 0; i < m; i += height) {
    const int64_t rows = m - i < height ? m - i : height;
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = a + (i + r) * row;
      for (int64_t p = 0; p < k; ++p) packed[p * rows + r] = from[p * column];
    }
    packed += rows * k;
  }
}

// x (1 + tanh u) / 2 = x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
inline Vector gelu(Vector x) {
  const Vector u = 0.797884561F * x * (1.0F + 0.044715F * x * x);
  return x / (1.0F + exponential(-2.0F * u));
}

template <class Activate>
void finish_with(int64_t m, int64_t n, float* c, int64_t ldc, float scale, const float* bias, Activate activate) {
  const int rest = static_cast<int>(n % lanes);
  const int64_t whole = n - rest;
  for (int64_t i = 0; i < m; ++i, c += ldc) {
    for (int64_t j = 0; j < whole; j += lanes) {
      const Vector x = load(c + j) * scale;
      store(c + j, activate(bias ? x + load(bias + j) : x));
    }
    if (rest > 0) {
      const Vector x = load_partial(c + whole, rest) * scale;
      store_partial(c + whole, activate(bias ? x + load_partial(bias + whole, rest) : x), rest);
    }
  }
}

void finish(int64_t m, int64_t n, float* c, int64_t ldc, float scale, const float* bias,
            Activation activation) noexcept {
  switch (activation) {
    case Activation::none:
      return finish_with(m, n, c, ldc, scale, bias, [](Vector x) { return x; });
    case Activation::relu:
      return finish_with(m, n, c, ldc, scale, bias, [](Vector x) { return x > 0 ? x : Vector{}; });
    case Activation::gelu:
      return finish_with(m, n, c, ldc, scale, bias, [](Vector x) { return gelu(x); });
  }
}

const InstructionSet* make_set(const char* name) {
  static InstructionSet set;
  set.name = name;
  set.lanes = lanes;
  set.registers = registers;
  enter_rows<max_tile_rows>(set);
  set.dot = &dot;
  set.pack_b = &pack_b;
  set.pack_a = &pack_a;
  set.finish = &finish;
  return &set;
}

}  // namespace
}  // namespace hone::gemm::host
