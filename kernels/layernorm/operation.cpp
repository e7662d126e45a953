#include <hone/layernorm.hpp>
#include <utility>

#include "kernels/layernorm/hip/kernel.hpp"
#include "kernels/layernorm/host/solvers.hpp"
#include "kernels/layernorm/reference.hpp"

namespace hone::layernorm {
namespace {

class Layernorm final : public OperationFor<Problem> {
 public:
  Layernorm(std::vector<std::shared_ptr<const Solver>> solvers, host::Facts facts)
      : OperationFor(std::move(solvers), "direct", std::move(facts)) {}

  Refusal validate(const Problem& problem) const override { return layernorm::validate(problem); }

  std::vector<Operand> operands(const Problem& problem) const override {
    const RowLayout layout = layout_of(problem);
    const auto columns = static_cast<std::size_t>(problem.columns);
    return {{"x", OperandRole::input, problem.type, layout.extent_x},
            {"y", OperandRole::output, problem.type, layout.extent_y},
            {"gain", OperandRole::input, problem.type, problem.gain ? columns : 0},
            {"shift", OperandRole::input, problem.type, problem.shift ? columns : 0}};
  }

  void reference(const Problem& problem, std::span<const std::span<std::byte>> operands) const override {
    layernorm::reference(problem, operands[0].data(), operands[1].data(), operands[2].data(), operands[3].data());
  }

  ErrorBound error_bound(const Problem& problem) const override { return layernorm::error_bound(problem); }
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
  return std::make_shared<const Layernorm>(std::move(solvers), std::move(facts));
}

}  // namespace

std::shared_ptr<const Operation> operation() {
  static const std::shared_ptr<const Operation> shared = make_operation();
  return shared;
}

}  // namespace hone::layernorm
