#include <algorithm>
#include <hone/conv2d.hpp>
#include <hone/gemm.hpp>
#include <utility>

#include "kernels/conv2d/geometry.hpp"
#include "kernels/conv2d/hip/kernel.hpp"
#include "kernels/conv2d/host/solvers.hpp"
#include "kernels/conv2d/reference.hpp"

namespace hone::conv2d {
namespace {

class Conv2d final : public OperationFor<Problem> {
 public:
  Conv2d(std::vector<std::shared_ptr<const Solver>> solvers, host::Facts facts)
      : OperationFor(std::move(solvers), "direct", std::move(facts)) {}

  Refusal validate(const Problem& problem) const override { return conv2d::validate(problem); }

  std::vector<Operand> operands(const Problem& problem) const override {
    const Geometry g = geometry_of(problem);
    return {{"x", OperandRole::input, problem.type, g.x_count},
            {"weights", OperandRole::input, problem.type, g.weights_count},
            {"y", OperandRole::output, problem.type, g.y_count},
            {"bias", OperandRole::input, problem.type, problem.bias ? static_cast<std::size_t>(problem.filters) : 0}};
  }

  void reference(const Problem& problem, std::span<const std::span<std::byte>> operands) const override {
    conv2d::reference(problem, operands[0].data(), operands[1].data(), operands[2].data(),
                      operands.size() > 3 ? operands[3].data() : nullptr);
  }

  ErrorBound error_bound(const Problem& problem) const override { return conv2d::error_bound(problem); }
};

std::shared_ptr<const Operation> make_operation() {
  // The libraries of the products are those of gemm, loaded once.
  const auto gemm = gemm::operation();
  host::Facts facts = gemm->facts();
  facts["conv2d kernels"] = host::kernels_version;
  std::vector<std::shared_ptr<const Solver>> solvers;
  // The order is the preference when nothing is known.
  for (const char* id : {"blocked", "openblas", "blis", "libxsmm"}) {
    const auto found = std::ranges::find_if(gemm->solvers(), [id](const auto& solver) { return solver->id() == id; });
    if (found != gemm->solvers().end()) solvers.push_back(host::gathered(*found));
  }
#if HONE_WITH_ONEDNN
  solvers.push_back(host::onednn_direct(facts));
  solvers.push_back(host::onednn_winograd(facts));
#endif
  solvers.push_back(host::direct());
  solvers.push_back(hip::tiled());
  solvers.push_back(hip::direct());
  return std::make_shared<const Conv2d>(std::move(solvers), std::move(facts));
}

}  // namespace

std::shared_ptr<const Operation> operation() {
  static const std::shared_ptr<const Operation> shared = make_operation();
  return shared;
}

}  // namespace hone::conv2d
