#include "kernels/gemm/host/tile_size.hpp"

#include <algorithm>
#include <utility>

#include "kernels/gemm/host/instruction_set.hpp"

namespace hone::gemm::host {

// The tile that reuses what it loads best, counting the part of it that hangs over the edges of C as lost. Beyond two
// operations a load the registers are busy anyway; then the tile with more accumulators hides their latency better.
TileSize default_tile(std::int64_t m, std::int64_t n) noexcept {
  const InstructionSet& set = instruction_set();
  const auto used = [](std::int64_t size, std::int64_t part) {
    return static_cast<double>(size) / static_cast<double>((size + part - 1) / part * part);
  };
  TileSize tile;
  std::pair<double, std::int64_t> best;
  for (const std::int64_t rows : tile_rows) {
    for (std::int64_t vectors = 1; vectors <= max_tile_vectors; ++vectors) {
      if (rows > m || (vectors - 1) * set.lanes >= n) continue;
      if (!set.tiles[0][InstructionSet::plain][rows - 1][vectors - 1]) continue;
      const double operations =
          std::min(static_cast<double>(rows * vectors) / static_cast<double>(rows + vectors), 2.0);
      const std::pair score(operations * used(m, rows) * used(n, vectors * set.lanes), rows * vectors);
      if (score > best) best = score, tile = {rows, vectors};
    }
  }
  return tile;
}

}  // namespace hone::gemm::host
