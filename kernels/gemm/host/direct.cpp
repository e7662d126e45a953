#include <algorithm>
#include <hone/error.hpp>

#include "kernels/element.hpp"
#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/host/tile_size.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

// Walks a matrix in register tiles; `visit(first row, rows, first column, columns, kernel, tail)`.
template <class Visit>
void for_each_tile(const InstructionSet& set, TileSize size, std::int64_t m, std::int64_t n, Visit visit) {
  const std::int64_t width = size.vectors * set.lanes;
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t columns = std::min(width, n - j);
    const auto vectors = static_cast<int>((columns + set.lanes - 1) / set.lanes);
    const auto tail = static_cast<int>(columns - (vectors - 1) * set.lanes);
    const auto variant = tail == set.lanes ? InstructionSet::unrolled : InstructionSet::partial;
    for (std::int64_t i = 0; i < m; i += size.rows) {
      const auto rows = static_cast<int>(std::min<std::int64_t>(size.rows, m - i));
      visit(i, rows, j, columns, set.tiles[0][variant][rows - 1][vectors - 1], tail);
    }
  }
}

// A plain loop over half-precision operands; sums are float.
struct HalfProduct {
  const Problem& p;
  const Layout& layout;
  const Half* a;
  const Half* b;
  Half* c;
  const Half* bias;

  // One matrix of the batch.
  void run() const noexcept {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t first = 0; first < p.n; first += together) {
        row(a + i * layout.a_row, i, first, std::min(together, p.n - first));
      }
    }
  }

 private:
  static constexpr std::int64_t together = 64;

  void row(const Half* from, std::int64_t i, std::int64_t first, std::int64_t columns) const noexcept {
    float sums[together] = {};
    for (std::int64_t step = 0; step < p.k; ++step) {
      const auto factor = static_cast<float>(from[step * layout.a_column]);
      const Half* other = b + step * layout.b_row + first * layout.b_column;
      for (std::int64_t j = 0; j < columns; ++j) sums[j] += factor * static_cast<float>(other[j * layout.b_column]);
    }
    Half* const to = c + i * layout.ldc + first;
    for (std::int64_t j = 0; j < columns; ++j) {
      sums[j] *= p.alpha;
      if (p.beta != 0) sums[j] += p.beta * static_cast<float>(to[j]);
    }
    if (bias != nullptr) {
      for (std::int64_t j = 0; j < columns; ++j) sums[j] += static_cast<float>(bias[first + j]);
    }
    if (p.activation != Activation::none) {
      instruction_set().finish(1, columns, sums, columns, 1, nullptr, p.activation);
    }
    for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<Half>(sums[j]);
  }
};

// Works on the operands where they lie: no packing, no workspace, every valid problem.
class Direct final : public GemmSolver {
 public:
  std::string_view id() const noexcept override { return "direct"; }

  Refusal applicable(const Problem&, const Device& device) const override { return refuse_device(device); }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    return p.type == f16 ? prepare_half(p) : prepare_float(p);
  }

 private:
  static std::shared_ptr<const Invoker> prepare_half(const Problem& p) {
    return make_invoker([p, layout = layout_of(p)](Stream&, const Arguments& arguments) noexcept -> std::error_code {
      const auto* a = arguments.get<const Half>(0);
      const auto* b = arguments.get<const Half>(1);
      auto* c = arguments.get<Half>(2);
      const auto* bias = p.bias ? arguments.get<const Half>(3) : nullptr;
      if (!a || !b || !c || (p.bias && !bias)) return Errc::launch_failed;
      for (std::int64_t i = 0; i < p.batch; ++i) {
        HalfProduct{p, layout, a + i * layout.stride_a, b + i * layout.stride_b, c + i * layout.stride_c, bias}.run();
      }
      return {};
    });
  }

  static std::shared_ptr<const Invoker> prepare_float(const Problem& p) {
    const auto launch = [p, layout = layout_of(p), epilogue = Epilogue(p, layout_of(p))](
                            Stream&, const Arguments& arguments) noexcept -> std::error_code {
      const Operands operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      for (std::int64_t i = 0; i < p.batch; ++i) {
        product(p, layout, operands.a + i * layout.stride_a, operands.b + i * layout.stride_b,
                operands.c + i * layout.stride_c);
      }
      epilogue.apply(operands);
      return {};
    };
    return make_invoker(launch);
  }

  static void product(const Problem& p, const Layout& layout, const float* a, const float* b, float* c) noexcept {
    const InstructionSet& set = instruction_set();
    if (!p.transpose_b) {
      for_each_tile(set, default_tile(p.m, p.n), p.m, p.n,
                    [&](std::int64_t i, int, std::int64_t j, std::int64_t, TileKernel kernel, int tail) {
                      kernel({p.k, a + i * layout.a_row, layout.a_row, layout.a_column, b + j, layout.ldb,
                              c + i * layout.ldc + j, layout.ldc, p.alpha, p.beta, tail});
                    });
    } else if (!p.transpose_a) {
      set.dot(p.m, p.n, p.k, a, layout.lda, b, layout.ldb, c, layout.ldc, p.alpha, p.beta);
    } else {
      transposed_product(set, p, layout, a, b, c);
    }
  }

  // Both are transposed: C^T = B A with B and A as they are stored, each tile turned on its way to C.
  static void transposed_product(const InstructionSet& set, const Problem& p, const Layout& layout, const float* a,
                                 const float* b, float* c) noexcept {
    alignas(64) float turned[max_tile_rows * max_tile_vectors * 16];
    for_each_tile(set, default_tile(p.n, p.m), p.n, p.m,
                  [&](std::int64_t j, int columns, std::int64_t i, std::int64_t rows, TileKernel kernel, int tail) {
                    kernel({p.k, b + j * layout.ldb, layout.ldb, 1, a + i, layout.lda, turned, rows, p.alpha, 0, tail});
                    for (std::int64_t row = 0; row < rows; ++row) {
                      for (int column = 0; column < columns; ++column) {
                        float& target = c[(i + row) * layout.ldc + j + column];
                        const float value = turned[column * rows + row];
                        target = p.beta == 0 ? value : value + p.beta * target;
                      }
                    }
                  });
  }
};

}  // namespace

std::shared_ptr<const GemmSolver> direct() { return std::make_shared<const Direct>(); }

}  // namespace hone::gemm::host
