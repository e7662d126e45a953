#include <algorithm>
#include <hone/error.hpp>
#include <iterator>
#include <string>

#include "kernels/softmax/host/row_kernels.hpp"
#include "kernels/softmax/host/solvers.hpp"
#include "kernels/softmax/reference.hpp"

namespace hone::softmax::host {
namespace {

// The widest set that the processor has.
const RowKernels& row_kernels() noexcept {
  static const RowKernels* const widest = avx512_rows() ? avx512_rows() : avx2_rows() ? avx2_rows() : portable_rows();
  return *widest;
}

const SearchSpace& space() {
  static const SearchSpace shared = [] {
    SearchSpace result;
    result.enumeration("method", {"store", "recompute", "online"});
    result.integer("unroll", {std::begin(unrolls), std::end(unrolls)});
    return result;
  }();
  return shared;
}

class Rows final : public SoftmaxSolver {
 public:
  std::string_view id() const noexcept override { return "rows"; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (p.type != f32) return "this solver's type is f32";
    return refuse_device(device);
  }

  SearchSpace search_space(const Problem&, const Device&) const override { return space(); }

  Configuration default_configuration(const Problem&, const Device&) const override {
    return space().configuration({store_powers, 4});
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration, Device&) const override {
    const auto place = std::find(std::begin(unrolls), std::end(unrolls), configuration.at("unroll"));
    const RowKernel kernel =
        row_kernels().kernels[configuration.at("method")][std::distance(std::begin(unrolls), place)];
    const auto launch = [p, layout = layout_of(p), kernel](Stream&,
                                                           const Arguments& arguments) noexcept -> std::error_code {
      const auto* x = arguments.get<const float>(0);
      auto* y = arguments.get<float>(1);
      if (!x || !y) return Errc::launch_failed;
      for (std::int64_t i = 0; i < p.rows; ++i) {
        kernel({x + i * layout.stride_x, y + i * layout.stride_y, p.columns, p.scale, p.logarithm});
      }
      return {};
    };
    return make_invoker(launch);
  }
};

}  // namespace

std::shared_ptr<const SoftmaxSolver> rows(Facts& facts) {
  facts["softmax kernels"] = std::string(kernels_version) + " on " + row_kernels().name;
  return std::make_shared<const Rows>();
}

}  // namespace hone::softmax::host
