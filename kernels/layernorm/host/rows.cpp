#include <algorithm>
#include <hone/error.hpp>
#include <iterator>
#include <string>

#include "kernels/layernorm/host/row_kernels.hpp"
#include "kernels/layernorm/host/solvers.hpp"
#include "kernels/layernorm/reference.hpp"

namespace hone::layernorm::host {
namespace {

// The widest set that the processor has.
const RowKernels& row_kernels() noexcept {
  static const RowKernels* const widest = avx512_rows() ? avx512_rows() : avx2_rows() ? avx2_rows() : portable_rows();
  return *widest;
}

const SearchSpace& space() {
  static const SearchSpace shared = [] {
    SearchSpace result;
    result.enumeration("method", {"two_pass", "shifted"});
    result.integer("unroll", {std::begin(unrolls), std::end(unrolls)});
    return result;
  }();
  return shared;
}

class Rows final : public LayernormSolver {
 public:
  std::string_view id() const noexcept override { return "rows"; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (p.type != f32) return "this solver's type is f32";
    return refuse_device(device);
  }

  SearchSpace search_space(const Problem& p, const Device&) const override {
    SearchSpace result = space();
    if (p.root_mean_square) {
      result.rule({"method"}, [](std::span<const std::int64_t> v) { return v[0] == two_pass; });
    }
    return result;
  }

  Configuration default_configuration(const Problem&, const Device&) const override {
    return space().configuration({two_pass, 4});
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration, Device&) const override {
    const auto place = std::find(std::begin(unrolls), std::end(unrolls), configuration.at("unroll"));
    const RowKernel kernel =
        row_kernels().kernels[configuration.at("method")][std::distance(std::begin(unrolls), place)];
    const auto launch = [p, layout = layout_of(p), kernel](Stream&,
                                                           const Arguments& arguments) noexcept -> std::error_code {
      const Operands<float> operands(p, arguments);
      if (!operands.complete(p)) return Errc::launch_failed;
      for (std::int64_t i = 0; i < p.rows; ++i) {
        kernel({operands.x + i * layout.stride_x, operands.y + i * layout.stride_y, operands.gain, operands.shift,
                p.columns, p.epsilon, p.root_mean_square});
      }
      return {};
    };
    return make_invoker(launch);
  }
};

}  // namespace

std::shared_ptr<const LayernormSolver> rows(Facts& facts) {
  facts["layernorm kernels"] = std::string(kernels_version) + " on " + row_kernels().name;
  return std::make_shared<const Rows>();
}

}  // namespace hone::layernorm::host
