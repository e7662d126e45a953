#include <blis.h>

#include <hone/error.hpp>
#include <utility>

#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/library.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

using Sgemm = decltype(bli_sgemm_ex);

class Blis final : public GemmSolver {
 public:
  Blis(std::unique_ptr<Library> library, Sgemm* sgemm) : library_(std::move(library)), sgemm_(sgemm) {}

  std::string_view id() const noexcept override { return "blis"; }

  Refusal applicable(const Problem& p, const Device& device) const override { return refuse(p, device); }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    const auto launch = [sgemm = sgemm_, p, layout = layout_of(p), epilogue = Epilogue(p, layout_of(p))](
                            Stream&, const Arguments& arguments) noexcept -> std::error_code {
      const Operands operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      // A runtime object of its own keeps the program's thread settings out of it.
      rntm_t runtime;
      bli_rntm_init(&runtime);
      bli_rntm_set_num_threads(1, &runtime);
      float alpha = p.alpha, beta = p.beta;
      for (std::int64_t i = 0; i < p.batch; ++i) {
        sgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, p.m, p.n, p.k, &alpha,
              const_cast<float*>(operands.a) + i * layout.stride_a, layout.a_row, layout.a_column,
              const_cast<float*>(operands.b) + i * layout.stride_b, layout.b_row, layout.b_column, &beta,
              operands.c + i * layout.stride_c, layout.ldc, 1, nullptr, &runtime);
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

std::shared_ptr<const GemmSolver> blis(Facts& facts) {
  auto library = Library::open({HONE_BLIS_FILE, "libblis.so.4"});
  if (!library) return nullptr;
  const auto sgemm = library->function<Sgemm>("bli_sgemm_ex");
  const auto version = library->function<decltype(bli_info_get_version_str)>("bli_info_get_version_str");
  const auto architecture = library->function<decltype(bli_arch_query_id)>("bli_arch_query_id");
  const auto name = library->function<decltype(bli_arch_string)>("bli_arch_string");
  if (!sgemm || !version || !architecture || !name) return nullptr;
  facts["blis"] = std::string(version()) + " on " + name(architecture());
  return std::make_shared<const Blis>(std::move(library), sgemm);
}

}  // namespace hone::gemm::host
