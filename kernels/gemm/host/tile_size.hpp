// The choice of a register tile without measuring.
#pragma once

#include <cstdint>

namespace hone::gemm::host {

// Rows, and vectors of the widest instruction set.
struct TileSize {
  std::int64_t rows = 1;
  std::int64_t vectors = 1;
};

// The rows of a tile that are worth trying.
inline constexpr std::int64_t tile_rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14};

// A tile that fits the registers, for C of m x n.
TileSize default_tile(std::int64_t m, std::int64_t n) noexcept;

}  // namespace hone::gemm::host
