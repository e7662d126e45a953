#include <algorithm>
#include <cstring>
#include <hone/error.hpp>
#include <string>
#include <utility>

#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"
#include "kernels/host/scratch.hpp"

namespace hone::gemm::host {
namespace {

struct Matrix {
  std::int64_t rows = 0, columns = 0;                // as stored
  std::int64_t padded_rows = 0, padded_columns = 0;  // in scratch
  bool copied() const noexcept { return rows != padded_rows || columns != padded_columns; }
  std::size_t padded_bytes() const noexcept {
    return hone::host::scratch_part(static_cast<std::size_t>(padded_rows * padded_columns) * sizeof(float));
  }
};

// The product of padded sizes that stands in for one of the batch.
struct Plan {
  Problem inner;
  Matrix a, b, c;
  std::size_t a_bytes() const noexcept { return a.copied() ? a.padded_bytes() : 0; }
  std::size_t b_bytes() const noexcept { return b.copied() ? b.padded_bytes() : 0; }
  // The result always passes through scratch, where beta still finds the old one.
  std::size_t bytes() const noexcept { return a_bytes() + b_bytes() + c.padded_bytes(); }
};

Plan plan_for(const Problem& p, const Configuration& configuration) {
  const std::int64_t alignment = configuration.at("alignment");
  const auto round_up = [alignment](std::int64_t size) { return (size + alignment - 1) / alignment * alignment; };
  const std::int64_t sizes = configuration.at("sizes");
  Plan plan;
  plan.inner = {.m = sizes >= 2 ? round_up(p.m) : p.m,
                .n = round_up(p.n),
                .k = sizes >= 1 ? round_up(p.k) : p.k,
                .transpose_a = p.transpose_a,
                .transpose_b = p.transpose_b,
                .alpha = p.alpha};
  const Problem& inner = plan.inner;
  plan.a = p.transpose_a ? Matrix{p.k, p.m, inner.k, inner.m} : Matrix{p.m, p.k, inner.m, inner.k};
  plan.b = p.transpose_b ? Matrix{p.n, p.k, inner.n, inner.k} : Matrix{p.k, p.n, inner.k, inner.n};
  plan.c = {p.m, p.n, inner.m, inner.n};
  const Layout layout = layout_of(p);
  if (!plan.a.copied()) plan.inner.lda = layout.lda;
  if (!plan.b.copied()) plan.inner.ldb = layout.ldb;
  return plan;
}

// The matrix itself, or its copy with zeros around.
const float* pad(const Matrix& matrix, const float* from, std::int64_t ld, float* to) noexcept {
  if (!matrix.copied()) return from;
  const auto row_bytes = static_cast<std::size_t>(matrix.columns) * sizeof(float);
  const auto gap_bytes = static_cast<std::size_t>(matrix.padded_columns - matrix.columns) * sizeof(float);
  for (std::int64_t i = 0; i < matrix.padded_rows; ++i) {
    float* row = to + i * matrix.padded_columns;
    if (i < matrix.rows) {
      std::memcpy(row, from + i * ld, row_bytes);
      std::memset(row + matrix.columns, 0, gap_bytes);
    } else {
      std::memset(row, 0, row_bytes + gap_bytes);
    }
  }
  return to;
}

class Padded final : public GemmSolver {
 public:
  explicit Padded(std::shared_ptr<const GemmSolver> solver)
      : solver_(std::move(solver)), id_(std::string(solver_->id()) + "_padded") {}

  std::string_view id() const noexcept override { return id_; }
  std::uint32_t version() const noexcept override { return solver_->version(); }
  bool compiles(const Problem& p) const override { return solver_->compiles(p); }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    constexpr std::int64_t smallest = 16;
    if (p.n % smallest == 0 && p.k % smallest == 0) return "the sizes n and k are multiples of 16 already";
    const std::int64_t largest_size = std::int64_t{1} << 30;
    if (std::max({p.m, p.n, p.k}) > largest_size) return "padding takes sizes up to 2^30";
    const Configuration configuration = default_configuration(p, device);
    if (Refusal refusal = solver_->applicable(plan_for(p, configuration).inner, device)) return refusal;
    if (p.workspace_limit >= 0 && !within_limit(p, workspace(p, configuration))) return workspace_refusal;
    return {};
  }

  SearchSpace search_space(const Problem& p, const Device&) const override {
    SearchSpace space;
    space.integer("alignment", {16, 32, 64}).enumeration("sizes", {"n", "nk", "mnk"});
    if (p.workspace_limit >= 0) {
      space.rule({"alignment", "sizes"}, [this, p, parameters = space_parameters()](std::span<const std::int64_t> v) {
        return within_limit(p, workspace(p, Configuration(parameters, {v.begin(), v.end()})));
      });
    }
    return space;
  }

  Configuration default_configuration(const Problem&, const Device&) const override {
    return Configuration(space_parameters(), {16, 1});
  }

  std::size_t workspace(const Problem& p, const Configuration& configuration) const override {
    const Plan plan = plan_for(p, configuration);
    return plan.bytes() + solver_->workspace(plan.inner, {});
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration,
                                         Device& device) const override {
    const Plan plan = plan_for(p, configuration);
    const auto launch = [p, plan, layout = layout_of(p), epilogue = Epilogue(p, layout_of(p)),
                         inner = solver_->prepare(plan.inner, {}, device),
                         inner_bytes = solver_->workspace(plan.inner, {})](
                            Stream& stream, const Arguments& arguments) noexcept -> std::error_code {
      const Operands operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      auto* scratch = static_cast<std::byte*>(stream.scratch(plan.bytes() + inner_bytes));
      if (scratch == nullptr) return Errc::out_of_memory;
      hone::host::PartStream part(stream, scratch + plan.bytes(), inner_bytes);
      auto* padded_a = reinterpret_cast<float*>(scratch);
      auto* padded_b = reinterpret_cast<float*>(scratch + plan.a_bytes());
      auto* padded_c = reinterpret_cast<float*>(scratch + plan.a_bytes() + plan.b_bytes());
      for (std::int64_t i = 0; i < p.batch; ++i) {
        const float* a = pad(plan.a, operands.a + i * layout.stride_a, layout.lda, padded_a);
        const float* b = pad(plan.b, operands.b + i * layout.stride_b, layout.ldb, padded_b);
        if (const std::error_code error = inner->run(part, {a, b, padded_c})) return error;
        crop(p, padded_c, plan.inner.n, operands.c + i * layout.stride_c, layout.ldc);
      }
      epilogue.apply(operands);
      return {};
    };
    return make_invoker(launch);
  }

 private:
  static std::shared_ptr<const std::vector<Parameter>> space_parameters() {
    static const auto parameters = std::make_shared<const std::vector<Parameter>>(
        std::vector<Parameter>{{"alignment", {16, 32, 64}, {}}, {"sizes", {0, 1, 2}, {"n", "nk", "mnk"}}});
    return parameters;
  }

  static void crop(const Problem& p, const float* from, std::int64_t ld, float* c, std::int64_t ldc) noexcept {
    for (std::int64_t i = 0; i < p.m; ++i, from += ld, c += ldc) {
      if (p.beta == 0) {
        std::copy_n(from, p.n, c);
      } else {
        for (std::int64_t j = 0; j < p.n; ++j) c[j] = from[j] + p.beta * c[j];
      }
    }
  }

  std::shared_ptr<const GemmSolver> solver_;
  std::string id_;
};

}  // namespace

std::shared_ptr<const GemmSolver> padded(std::shared_ptr<const GemmSolver> solver) {
  return std::make_shared<const Padded>(std::move(solver));
}

}  // namespace hone::gemm::host
