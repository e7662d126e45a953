#include <cblas.h>

#include <cstdlib>
#include <hone/error.hpp>
#include <limits>
#include <utility>

#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/library.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

using Sgemm = decltype(cblas_sgemm);

class OpenBlas final : public GemmSolver {
 public:
  OpenBlas(std::unique_ptr<Library> library, Sgemm* sgemm) : library_(std::move(library)), sgemm_(sgemm) {}

  std::string_view id() const noexcept override { return "openblas"; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    const Layout layout = layout_of(p);
    for (const std::int64_t size : {p.m, p.n, p.k, layout.lda, layout.ldb, layout.ldc}) {
      if (size > std::numeric_limits<blasint>::max()) return "OpenBLAS takes sizes and row strides below 2^31";
    }
    return {};
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    const auto launch = [sgemm = sgemm_, p, layout = layout_of(p), epilogue = Epilogue(p, layout_of(p))](
                            Stream&, const Arguments& arguments) noexcept -> std::error_code {
      const Operands operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      const auto size = [](std::int64_t value) { return static_cast<blasint>(value); };
      for (std::int64_t i = 0; i < p.batch; ++i) {
        sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans, p.transpose_b ? CblasTrans : CblasNoTrans,
              size(p.m), size(p.n), size(p.k), p.alpha, operands.a + i * layout.stride_a, size(layout.lda),
              operands.b + i * layout.stride_b, size(layout.ldb), p.beta, operands.c + i * layout.stride_c,
              size(layout.ldc));
      }
      epilogue.apply(operands);
      return {};
    };
    return make_invoker(launch);
  }

 private:
  std::unique_ptr<Library> library_;
  Sgemm* sgemm_;
};

}  // namespace

std::shared_ptr<const GemmSolver> openblas(Facts& facts) {
  // One process-wide copy: its thread count is set once.
  auto library = Library::open({HONE_OPENBLAS_FILE, "libopenblas.so.0"});
  if (!library) return nullptr;
  const auto sgemm = library->function<Sgemm>("cblas_sgemm");
  const auto set_threads = library->function<void(int)>("openblas_set_num_threads");
  const auto config = library->function<char*()>("openblas_get_config");
  const auto core = library->function<char*()>("openblas_get_corename");
  const auto parallel = library->function<int()>("openblas_get_parallel");
  if (!sgemm || !set_threads || !config || !core || !parallel) return nullptr;
  // The OpenMP build takes its thread count from each calling thread and cannot be held to one thread here.
  constexpr int openmp = 2;
  if (parallel() == openmp) return nullptr;
  set_threads(1);
  facts["openblas"] = std::string(config()) + " on " + core();
  if (const char* forced = std::getenv("OPENBLAS_CORETYPE")) facts["OPENBLAS_CORETYPE"] = forced;
  return std::make_shared<const OpenBlas>(std::move(library), sgemm);
}

}  // namespace hone::gemm::host
