// The features of a problem, or of a problem and a candidate, computed the same way in training and at use.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/learning/expression.hpp"

namespace hone::learning {

struct Feature {
  std::string name;
  std::string expression;

  friend bool operator==(const Feature&, const Feature&) = default;
};

// Immutable and thread-safe.
class Features {
 public:
  Features() = default;
  // Throws Error(invalid_option): an expression that does not parse, names that are not unique.
  Features(const std::vector<Variable>& problem, const std::vector<Variable>& candidate,
           const std::vector<Feature>& features);

  std::size_t size() const noexcept { return expressions_.size(); }
  std::size_t variables() const noexcept { return variables_; }

  // `values`: the problem's values, then the candidate's. `row`: one element for each feature; the first function sets
  // the features that depend on the problem alone, the second the others.
  void of_problem(const double* values, double* row) const noexcept;
  void of_candidate(const double* values, double* row) const noexcept;

  const Expression& expression(std::size_t feature) const { return expressions_[feature]; }

 private:
  std::size_t variables_ = 0;
  std::vector<Expression> expressions_;
  std::vector<std::size_t> of_problem_;
  std::vector<std::size_t> of_candidate_;
};

// The problem's variables, then the candidate's.
std::vector<Variable> join(const std::vector<Variable>& problem, const std::vector<Variable>& candidate);

}  // namespace hone::learning
