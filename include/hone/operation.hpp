// Operations: a problem type, its solvers, and how results are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/data_type.hpp>
#include <hone/heuristic.hpp>
#include <hone/problem.hpp>
#include <hone/solver.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

enum class OperandRole { input, output, input_output };

// One operand of a problem: contiguous elements. A count of zero: the problem does not use this operand.
struct Operand {
  std::string name;
  OperandRole role = OperandRole::input;
  DataType type = DataType::f32;
  std::size_t count = 0;  // elements
};

// An output element x is right when |x - reference| <= absolute + relative * |reference|.
struct ErrorBound {
  double absolute = 0;
  double relative = 0;
};

// Stateless and thread-safe.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual const ProblemType& problem_type() const noexcept = 0;
  // The order is the preference when nothing is known: the first applicable one that does not compile is the default.
  virtual std::span<const std::shared_ptr<const Solver>> solvers() const noexcept = 0;
  // The id of a solver that runs every valid problem and is ready without compiling.
  virtual std::string_view fallback() const noexcept = 0;
  // Why the problem makes no sense (sizes, types, layouts): names the field and what it accepts, no values.
  virtual Refusal validate(const Problem& problem) const = 0;
  // The operands of a valid problem, in the order of Arguments.
  virtual std::vector<Operand> operands(const Problem& problem) const = 0;
  // Computes the outputs on host memory, slowly and surely. Operands as in operands(); input_output ones hold their
  // initial values.
  virtual void reference(const Problem& problem, std::span<const std::span<std::byte>> operands) const = 0;
  virtual ErrorBound error_bound(const Problem& problem) const = 0;
  // Bytes of scratch that a candidate for this problem may use.
  virtual std::uint64_t workspace_limit(const Problem&) const { return UINT64_MAX; }
  // Library versions as loaded at run time and whatever else the solvers depend on; part of the environment.
  virtual std::map<std::string, std::string> facts() const { return {}; }
  // What was learned about problems that are not measured yet; null where nothing was. Always the same one.
  virtual std::shared_ptr<const Heuristic> heuristic() const { return nullptr; }
};

// An operation whose problem is a struct: derive, override the typed functions, and give the constructor the solvers,
// the fallback's id and, where solvers have some, the facts.
template <ProblemStruct P>
class OperationFor : public Operation {
 public:
  OperationFor(std::vector<std::shared_ptr<const Solver>> solvers, std::string fallback,
               std::map<std::string, std::string> facts = {})
      : solvers_(std::move(solvers)), fallback_(std::move(fallback)), facts_(std::move(facts)) {}

  virtual Refusal validate(const P& problem) const = 0;
  virtual std::vector<Operand> operands(const P& problem) const = 0;
  virtual void reference(const P& problem, std::span<const std::span<std::byte>> operands) const = 0;
  virtual ErrorBound error_bound(const P& problem) const = 0;
  virtual std::uint64_t workspace_limit(const P&) const { return UINT64_MAX; }

  const ProblemType& problem_type() const noexcept final { return hone::problem_type<P>(); }
  std::span<const std::shared_ptr<const Solver>> solvers() const noexcept final { return solvers_; }
  std::string_view fallback() const noexcept final { return fallback_; }
  std::map<std::string, std::string> facts() const override { return facts_; }
  Refusal validate(const Problem& p) const final { return validate(p.as<P>()); }
  std::vector<Operand> operands(const Problem& p) const final { return operands(p.as<P>()); }
  void reference(const Problem& p, std::span<const std::span<std::byte>> operands) const final {
    reference(p.as<P>(), operands);
  }
  ErrorBound error_bound(const Problem& p) const final { return error_bound(p.as<P>()); }
  std::uint64_t workspace_limit(const Problem& p) const final { return workspace_limit(p.as<P>()); }

 private:
  std::vector<std::shared_ptr<const Solver>> solvers_;
  std::string fallback_;
  std::map<std::string, std::string> facts_;
};

}  // namespace hone
