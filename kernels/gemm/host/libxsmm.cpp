#include <libxsmm.h>

#include <cstdlib>
#include <hone/error.hpp>
#include <limits>
#include <stdexcept>

#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

// LIBXSMM is column-major: C^T = B^T A^T. It generates code for op(B) and op(A) as they are, for alpha 1, and for a
// beta of 0 or 1; a transposed B is copied to scratch first, and alpha is left to the epilogue.
class Libxsmm final : public GemmSolver {
 public:
  std::string_view id() const noexcept override { return "libxsmm"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    if (p.transpose_a) return "LIBXSMM takes no transposed A";
    if (p.beta != 0 && p.beta != 1) return "LIBXSMM takes a beta of 0 or 1";
    if (p.beta != 0 && p.alpha != 1) return "LIBXSMM takes an alpha other than 1 only with a beta of 0";
    const Layout layout = layout_of(p);
    for (const std::int64_t size : {p.m, p.n, p.k, layout.lda, layout.ldb, layout.ldc}) {
      if (size > std::numeric_limits<libxsmm_blasint>::max()) return "LIBXSMM takes sizes and row strides below 2^31";
    }
    if (!within_limit(p, workspace(p, {}))) return workspace_refusal;
    return {};
  }

  std::size_t workspace(const Problem& p, const Configuration&) const override {
    if (!p.transpose_b) return 0;
    const auto lanes = static_cast<std::size_t>(instruction_set().lanes);
    const std::size_t columns = (static_cast<std::size_t>(p.n) + lanes - 1) / lanes * lanes;
    return columns * static_cast<std::size_t>(p.k) * sizeof(float);
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    const Layout layout = layout_of(p);
    const auto size = [](std::int64_t value) { return static_cast<libxsmm_blasint>(value); };
    const std::size_t bytes = workspace(p, {});
    const std::int64_t ldb = p.transpose_b ? static_cast<std::int64_t>(bytes / sizeof(float)) / p.k : layout.ldb;
    const libxsmm_blasint lda_ = size(layout.lda), ldb_ = size(ldb), ldc_ = size(layout.ldc);
    const float alpha = 1, beta = p.beta;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    const libxsmm_smmfunction kernel =
        libxsmm_smmdispatch(size(p.n), size(p.m), size(p.k), &ldb_, &lda_, &ldc_, &alpha, &beta, &flags, &prefetch);
    if (kernel == nullptr) throw std::runtime_error("LIBXSMM generates no code for this problem");
    const auto launch = [kernel, p, layout, bytes, ldb, epilogue = Epilogue(p, layout, p.alpha)](
                            Stream& stream, const Arguments& arguments) noexcept -> std::error_code {
      const Operands operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      float* transposed = nullptr;
      if (bytes > 0) {
        transposed = static_cast<float*>(stream.scratch(bytes));
        if (transposed == nullptr) return Errc::out_of_memory;
      }
      for (std::int64_t i = 0; i < p.batch; ++i) {
        const float* b = operands.b + i * layout.stride_b;
        if (transposed != nullptr) {
          instruction_set().pack_b(p.k, p.n, ldb, b, layout.b_row, layout.b_column, transposed);
          b = transposed;
        }
        kernel(b, operands.a + i * layout.stride_a, operands.c + i * layout.stride_c);
      }
      epilogue.apply(operands);
      return {};
    };
    return make_invoker(launch);
  }
};

}  // namespace

std::shared_ptr<const GemmSolver> libxsmm(Facts& facts) {
  // Its initialisation sets this for the whole process: OpenMP's threads of every child process would share a
  // processor.
  constexpr const char* binding = "OMP_PROC_BIND";
  const bool bound = std::getenv(binding) != nullptr;
  libxsmm_init();
  if (!bound) unsetenv(binding);
  facts["libxsmm"] = std::string(LIBXSMM_VERSION) + " on " + libxsmm_get_target_arch();
  return std::make_shared<const Libxsmm>();
}

}  // namespace hone::gemm::host
