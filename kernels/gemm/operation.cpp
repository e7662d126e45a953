#include <hone/gemm.hpp>
#include <utility>

#include "kernels/gemm/heuristics/host_gemm.hpp"
#include "kernels/gemm/hip/solver.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"
#include "kernels/gemm/reference.hpp"

namespace hone::gemm {
namespace {

class Gemm final : public OperationFor<Problem> {
 public:
  Gemm(std::vector<std::shared_ptr<const Solver>> solvers, host::Facts facts)
      : OperationFor(std::move(solvers), "direct", std::move(facts)) {
    heuristic_ = learning::make_heuristic(heuristics::host_gemm::model(), problem_type());
  }

  Refusal validate(const Problem& problem) const override { return gemm::validate(problem); }

  std::vector<Operand> operands(const Problem& problem) const override {
    const Layout layout = layout_of(problem);
    // With a beta of 0 only the gaps between rows are input: they must come back as they were.
    return {{"a", OperandRole::input, problem.type, layout.extent_a},
            {"b", OperandRole::input, problem.type, layout.extent_b},
            {"c", problem.beta == 0 ? OperandRole::output : OperandRole::input_output, problem.type, layout.extent_c},
            {"bias", OperandRole::input, problem.type, problem.bias ? static_cast<std::size_t>(problem.n) : 0}};
  }

  void reference(const Problem& problem, std::span<const std::span<std::byte>> operands) const override {
    gemm::reference(problem, operands[0].data(), operands[1].data(), operands[2].data(),
                    operands.size() > 3 ? operands[3].data() : nullptr);
  }

  ErrorBound error_bound(const Problem& problem) const override { return gemm::error_bound(problem); }

  std::shared_ptr<const Heuristic> heuristic() const override { return heuristic_; }

 private:
  std::shared_ptr<const Heuristic> heuristic_;
};

std::shared_ptr<const Operation> make_operation() {
  host::Facts facts;
  std::vector<std::shared_ptr<const Solver>> solvers;
  std::vector<std::shared_ptr<const host::GemmSolver>> to_pad;
  const auto offer = [&](std::shared_ptr<const host::GemmSolver> solver, bool pad) {
    if (!solver) return;
    if (pad) to_pad.push_back(solver);
    solvers.push_back(std::move(solver));
  };
  // The order is the preference when nothing is known. Hone's own is first: it goes by what the processor can do, while
  // OpenBLAS and BLIS go by the processor's model and take their oldest code for one they do not know.
  offer(host::blocked(facts), false);
#if HONE_WITH_OPENBLAS
  offer(host::openblas(facts), true);
#endif
#if HONE_WITH_BLIS
  offer(host::blis(facts), true);
#endif
  offer(host::direct(), false);
#if HONE_WITH_ONEDNN
  offer(host::onednn(facts), true);
#endif
#if HONE_WITH_LIBXSMM
  offer(host::libxsmm(facts), false);
#endif
  for (auto& solver : to_pad) solvers.push_back(host::padded(std::move(solver)));
  solvers.push_back(hip::tiled());
  solvers.push_back(hip::direct());
  return std::make_shared<const Gemm>(std::move(solvers), std::move(facts));
}

}  // namespace

std::shared_ptr<const Operation> operation() {
  // Libraries are loaded once a process, so that their versions and thread settings are one.
  static const std::shared_ptr<const Operation> shared = make_operation();
  return shared;
}

}  // namespace hone::gemm
