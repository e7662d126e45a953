#include <hone/softmax.hpp>
#include <utility>

#include "kernels/softmax/hip/kernel.hpp"
#include "kernels/softmax/host/solvers.hpp"
#include "kernels/softmax/reference.hpp"

namespace hone::softmax {
namespace {

class Softmax final : public OperationFor<Problem> {
 public:
  Softmax(std::vector<std::shared_ptr<const Solver>> solvers, host::Facts facts)
      : OperationFor(std::move(solvers), "direct", std::move(facts)) {}

  Refusal validate(const Problem& problem) const override { return softmax::validate(problem); }

  std::vector<Operand> operands(const Problem& problem) const override {
    const RowLayout layout = layout_of(problem);
    return {{"x", OperandRole::input, problem.type, layout.extent_x},
            {"y", OperandRole::output, problem.type, layout.extent_y}};
  }

  void reference(const Problem& problem, std::span<const std::span<std::byte>> operands) const override {
    softmax::reference(problem, operands[0].data(), operands[1].data());
  }

  ErrorBound error_bound(const Problem& problem) const override { return softmax::error_bound(problem); }
};

std::shared_ptr<const Operation> make_operation() {
  host::Facts facts;
  // The order is the preference when nothing is known.
  std::vector<std::shared_ptr<const Solver>> solvers = {host::rows(facts), host::direct()};
#if HONE_WITH_ONEDNN
  solvers.push_back(host::onednn(facts));
#endif
  solvers.push_back(hip::rows());
  solvers.push_back(hip::direct());
  return std::make_shared<const Softmax>(std::move(solvers), std::move(facts));
}

}  // namespace

std::shared_ptr<const Operation> operation() {
  static const std::shared_ptr<const Operation> shared = make_operation();
  return shared;
}

}  // namespace hone::softmax
