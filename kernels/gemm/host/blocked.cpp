#include <algorithm>
#include <hone/error.hpp>

#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/host/tile_size.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

// How the product is cut up, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008):
// nc columns of B, of these kc rows at a time, against mc rows of A, in register tiles of mr x nr.
struct Blocking {
  std::int64_t mr, nr, mc, kc, nc;
  bool pack_a, pack_b, unroll;

  explicit Blocking(std::span<const std::int64_t> v)
      : mr(v[0]), nr(v[1]), mc(v[2]), kc(v[3]), nc(v[4]), pack_a(v[5] != 0), pack_b(v[6] != 0), unroll(v[7] > 1) {}
};

constexpr std::int64_t smallest_block = 16;

// Half of a second-level cache of today's servers.
constexpr std::int64_t near_elements = (std::int64_t{1} << 20) / sizeof(float);

std::size_t line_aligned(std::int64_t elements) {
  return (static_cast<std::size_t>(elements) * sizeof(float) + 63) / 64 * 64;
}

std::size_t packed_a_bytes(const Problem& p, const Blocking& blocking) {
  return blocking.pack_a ? line_aligned(std::min(p.m, blocking.mc) * std::min(p.k, blocking.kc)) : 0;
}

std::size_t packed_b_bytes(const Problem& p, const Blocking& blocking) {
  const std::int64_t columns = (std::min(p.n, blocking.nc) + blocking.nr - 1) / blocking.nr * blocking.nr;
  return blocking.pack_b ? line_aligned(columns * std::min(p.k, blocking.kc)) : 0;
}

// One product: everything that does not change from block to block.
struct Product {
  const Problem& p;
  const Layout& layout;
  const Blocking& blocking;
  const InstructionSet& set;
  float* packed_a;
  float* packed_b;
  const float* bias;

  void run(const float* a, const float* b, float* c) const noexcept {
    for (std::int64_t j = 0; j < p.n; j += blocking.nc) {
      const std::int64_t columns = std::min(blocking.nc, p.n - j);
      for (std::int64_t step = 0; step < p.k; step += blocking.kc) {
        const std::int64_t steps = std::min(blocking.kc, p.k - step);
        const float* block_b = b + step * layout.b_row + j * layout.b_column;
        if (blocking.pack_b) {
          set.pack_b(steps, columns, blocking.nr, block_b, layout.b_row, layout.b_column, packed_b);
        }
        for (std::int64_t i = 0; i < p.m; i += blocking.mc) {
          const std::int64_t rows = std::min(blocking.mc, p.m - i);
          const float* block_a = a + i * layout.a_row + step * layout.a_column;
          if (blocking.pack_a) {
            set.pack_a(rows, steps, blocking.mr, block_a, layout.a_row, layout.a_column, packed_a);
          }
          float* block_c = c + i * layout.ldc + j;
          tiles(rows, columns, steps, block_a, block_b, block_c, step == 0 ? p.beta : 1.0F);
          const bool complete = step + steps == p.k;
          if (complete && (p.bias || p.activation != Activation::none)) {
            set.finish(rows, columns, block_c, layout.ldc, 1, bias ? bias + j : nullptr, p.activation);
          }
        }
      }
    }
  }

 private:
  void tiles(std::int64_t rows, std::int64_t columns, std::int64_t steps, const float* block_a, const float* block_b,
             float* block_c, float beta) const noexcept {
    const auto& variants = set.tiles[blocking.pack_a ? 1 : 0];
    for (std::int64_t j = 0; j < columns; j += blocking.nr) {
      const std::int64_t width = std::min(blocking.nr, columns - j);
      const auto vectors = static_cast<int>((width + set.lanes - 1) / set.lanes);
      const auto tail = static_cast<int>(width - (vectors - 1) * set.lanes);
      const auto variant = tail < set.lanes  ? InstructionSet::partial
                           : blocking.unroll ? InstructionSet::unrolled
                                             : InstructionSet::plain;
      const float* b = blocking.pack_b ? packed_b + j * steps : block_b + j;
      const std::int64_t b_step = blocking.pack_b ? blocking.nr : layout.b_row;
      for (std::int64_t i = 0; i < rows; i += blocking.mr) {
        const std::int64_t height = std::min(blocking.mr, rows - i);
        const float* a = blocking.pack_a ? packed_a + i * steps : block_a + i * layout.a_row;
        variants[variant][height - 1][vectors - 1]({steps, a, layout.a_row, layout.a_column, b, b_step,
                                                    block_c + i * layout.ldc + j, layout.ldc, p.alpha, beta, tail});
      }
    }
  }
};

// Parameters and the rules that hold for every problem.
const SearchSpace& common_space() {
  static const SearchSpace space = [] {
    const InstructionSet& set = instruction_set();
    std::vector<std::int64_t> widths;
    for (int vectors = 1; vectors <= max_tile_vectors; ++vectors) widths.push_back(vectors * set.lanes);
    SearchSpace result;
    result.integer("mr", {std::begin(tile_rows), std::end(tile_rows)}).integer("nr", widths);
    result.power_of_two("mc", smallest_block, 1024);
    result.power_of_two("kc", smallest_block, 4096);
    result.power_of_two("nc", smallest_block, 4096);
    result.boolean("pack_a").boolean("pack_b").integer("unroll", {1, 4});
    result.rule({"mr", "nr"}, [&set](std::span<const std::int64_t> v) {
      return set.tiles[0][InstructionSet::plain][v[0] - 1][v[1] / set.lanes - 1] != nullptr;
    });
    result.rule("nc >= nr");
    return result;
  }();
  return space;
}

class Blocked final : public GemmSolver {
 public:
  std::string_view id() const noexcept override { return "blocked"; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    const std::int64_t lanes = instruction_set().lanes;
    const std::int64_t least[] = {1, lanes, smallest_block, smallest_block, smallest_block, 0, p.transpose_b, 1};
    if (!within_limit(p, workspace(p, Blocking(least)))) return workspace_refusal;
    return {};
  }

  std::size_t workspace(const Problem& p, const Configuration& configuration) const override {
    return workspace(p, Blocking(configuration.values()));
  }

  SearchSpace search_space(const Problem& p, const Device&) const override {
    SearchSpace space = common_space();
    // Of the blocks that hold the whole size, only the smallest: the others do the same.
    const auto useful = [](std::int64_t size) {
      return [size](std::span<const std::int64_t> v) { return v[0] == smallest_block || v[0] / 2 < size; };
    };
    space.rule({"mr"}, [m = p.m](std::span<const std::int64_t> v) { return v[0] <= m; });
    space.rule({"mc"}, useful(p.m)).rule({"kc"}, useful(p.k)).rule({"nc"}, useful(p.n));
    if (p.transpose_b) space.rule({"pack_b"}, [](std::span<const std::int64_t> v) { return v[0] != 0; });
    if (p.workspace_limit >= 0) {
      space.rule({"mr", "nr", "mc", "kc", "nc", "pack_a", "pack_b", "unroll"},
                 [p](std::span<const std::int64_t> v) { return within_limit(p, workspace(p, Blocking(v))); });
    }
    return space;
  }

  Configuration default_configuration(const Problem& p, const Device& device) const override;

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration, Device&) const override {
    const Blocking blocking(configuration.values());
    const auto launch = [p, layout = layout_of(p), blocking, bytes = workspace(p, blocking),
                         a_bytes = packed_a_bytes(p, blocking)](
                            Stream& stream, const Arguments& arguments) noexcept -> std::error_code {
      const Operands operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      std::byte* scratch = nullptr;
      if (bytes > 0) {
        scratch = static_cast<std::byte*>(stream.scratch(bytes));
        if (scratch == nullptr) return Errc::out_of_memory;
      }
      const Product product{p,
                            layout,
                            blocking,
                            instruction_set(),
                            reinterpret_cast<float*>(scratch),
                            reinterpret_cast<float*>(scratch + a_bytes),
                            operands.bias};
      for (std::int64_t i = 0; i < p.batch; ++i) {
        product.run(operands.a + i * layout.stride_a, operands.b + i * layout.stride_b,
                    operands.c + i * layout.stride_c);
      }
      return {};
    };
    return make_invoker(launch);
  }

 private:
  static std::size_t workspace(const Problem& p, const Blocking& blocking) {
    return packed_a_bytes(p, blocking) + packed_b_bytes(p, blocking);
  }
};

// The smallest block of the space that holds `size`, at most `most`.
std::int64_t block_for(std::int64_t size, std::int64_t most) {
  std::int64_t block = smallest_block;
  while (block < size && block < most) block *= 2;
  return block;
}

Configuration Blocked::default_configuration(const Problem& p, const Device& device) const {
  const InstructionSet& set = instruction_set();
  const TileSize tile = default_tile(p.m, p.n);
  // Without packing, a few rows of B at a time are read in the order of memory, which its prefetchers follow: best for
  // a B that comes from afar. One that the second cache holds, and that is read for many rows of A, is better taken
  // whole.
  const bool pack_b = p.transpose_b || p.m >= 256;
  const bool near = p.m > 16 && p.n <= near_elements / p.k;
  const std::int64_t steps = pack_b ? 256 : near ? 512 : 64;
  std::vector<std::int64_t> values = {tile.rows,
                                      tile.vectors * set.lanes,
                                      block_for(p.m, 128),
                                      block_for(p.k, steps),
                                      std::max(block_for(p.n, 2048), block_for(tile.vectors * set.lanes, 4096)),
                                      0,
                                      pack_b,
                                      4};
  const SearchSpace space = search_space(p, device);
  while (true) {
    try {
      return space.configuration(values);
    } catch (const Error&) {
      // Outside because of the workspace: shrink it.
      if (values[6] != 0 && !p.transpose_b) {
        values[6] = 0;
      } else if (values[4] > smallest_block) {
        values[4] /= 2;
        values[1] = std::min<std::int64_t>(values[1], set.lanes);
      } else if (values[3] > smallest_block) {
        values[3] /= 2;
      } else {
        throw;
      }
    }
  }
}

}  // namespace

std::shared_ptr<const GemmSolver> blocked(Facts& facts) {
  facts["gemm kernels"] = std::string(kernels_version) + " on " + instruction_set().name;
  return std::make_shared<const Blocked>();
}

}  // namespace hone::gemm::host
