// The vectorised inner loops of hone's own matrix products, one set for each instruction set.
#pragma once

#include <cstdint>
#include <hone/gemm.hpp>

namespace hone::gemm::host {

// One register tile: C[rows x columns] = alpha * sum over k of A B + beta * C. Strides in elements.
struct Tile {
  std::int64_t k;
  const float* a;
  std::int64_t a_row, a_step;  // between rows, and between steps of k
  const float* b;
  std::int64_t b_step;  // columns of B are neighbours
  float* c;
  std::int64_t ldc;
  float alpha, beta;  // C is not read when beta is 0
  int tail;           // columns in the last vector of a row
};
using TileKernel = void (*)(const Tile&) noexcept;

inline constexpr int max_tile_rows = 14;
inline constexpr int max_tile_vectors = 4;

// Rows of a tile that fit the registers together with a given number of vectors.
struct InstructionSet {
  const char* name;
  int lanes;      // floats of a vector
  int registers;  // vectors

  // Tiles by [packed A][variant][rows - 1][vectors - 1]; null where the accumulators exceed the registers.
  // In a packed A the rows of one step of k are neighbours, and steps follow each other.
  enum Variant { plain, unrolled, partial };  // partial: the last vector has `tail` columns
  TileKernel tiles[2][3][max_tile_rows][max_tile_vectors];

  // C[m x n] = alpha A B^T + beta C by dot products along k; rows of A and rows of B are contiguous.
  void (*dot)(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda, const float* b,
              std::int64_t ldb, float* c, std::int64_t ldc, float alpha, float beta) noexcept;

  // Copies op(B)[k x n] to panels of `width` columns, zeros behind the last column.
  void (*pack_b)(std::int64_t k, std::int64_t n, std::int64_t width, const float* b, std::int64_t row,
                 std::int64_t column, float* packed) noexcept;
  // Copies op(A)[m x k] to panels of `height` rows, each step of k contiguous; the last panel has only its own rows.
  void (*pack_a)(std::int64_t m, std::int64_t k, std::int64_t height, const float* a, std::int64_t row,
                 std::int64_t column, float* packed) noexcept;

  // C = activation(scale * C + bias); no bias when null.
  void (*finish)(std::int64_t m, std::int64_t n, float* c, std::int64_t ldc, float scale, const float* bias,
                 Activation activation) noexcept;
};

// The widest set that the processor has. HONE_... variables do not change it.
const InstructionSet& instruction_set() noexcept;

// Each set, or null when the processor or the build lacks it.
const InstructionSet* avx512_set() noexcept;
const InstructionSet* avx2_set() noexcept;
const InstructionSet* portable_set() noexcept;

}  // namespace hone::gemm::host
