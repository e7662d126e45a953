#include <hone/error.hpp>
#include <hone/heuristic.hpp>
#include <hone/operation.hpp>

namespace hone {
namespace {

class WithHeuristic final : public Operation {
 public:
  WithHeuristic(std::shared_ptr<const Operation> operation, std::shared_ptr<const Heuristic> heuristic)
      : operation_(std::move(operation)), heuristic_(std::move(heuristic)) {}

  const ProblemType& problem_type() const noexcept override { return operation_->problem_type(); }
  std::span<const std::shared_ptr<const Solver>> solvers() const noexcept override { return operation_->solvers(); }
  std::string_view fallback() const noexcept override { return operation_->fallback(); }
  Refusal validate(const Problem& problem) const override { return operation_->validate(problem); }
  std::vector<Operand> operands(const Problem& problem) const override { return operation_->operands(problem); }
  void reference(const Problem& problem, std::span<const std::span<std::byte>> operands) const override {
    operation_->reference(problem, operands);
  }
  ErrorBound error_bound(const Problem& problem) const override { return operation_->error_bound(problem); }
  std::uint64_t workspace_limit(const Problem& problem) const override { return operation_->workspace_limit(problem); }
  std::map<std::string, std::string> facts() const override { return operation_->facts(); }
  std::shared_ptr<const Heuristic> heuristic() const override { return heuristic_; }

 private:
  std::shared_ptr<const Operation> operation_;
  std::shared_ptr<const Heuristic> heuristic_;
};

}  // namespace

std::shared_ptr<const Operation> with_heuristic(std::shared_ptr<const Operation> operation,
                                                std::shared_ptr<const Heuristic> heuristic) {
  if (!operation) throw Error(Errc::invalid_operation, "the operation is null");
  return std::make_shared<const WithHeuristic>(std::move(operation), std::move(heuristic));
}

}  // namespace hone
