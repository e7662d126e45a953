#include "kernels/learning/features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hone/error.hpp>
#include <set>

namespace hone::learning {

std::vector<Variable> join(const std::vector<Variable>& problem, const std::vector<Variable>& candidate) {
  std::vector<Variable> all = problem;
  all.insert(all.end(), candidate.begin(), candidate.end());
  return all;
}

Features::Features(const std::vector<Variable>& problem, const std::vector<Variable>& candidate,
                   const std::vector<Feature>& features) {
  const std::vector<Variable> all = join(problem, candidate);
  variables_ = all.size();
  std::set<std::string> names;
  for (const Variable& variable : all) {
    if (!names.insert(variable.name).second) {
      throw Error(Errc::invalid_option, fmt::format("variable '{}' is there twice", variable.name));
    }
  }
  names.clear();
  for (const Feature& feature : features) {
    if (!names.insert(feature.name).second) {
      throw Error(Errc::invalid_option, fmt::format("feature '{}' is there twice", feature.name));
    }
    expressions_.push_back(Expression::parse(feature.expression, all));
    const auto used = expressions_.back().variables();
    const bool candidates =
        std::any_of(used.begin(), used.end(), [&](std::size_t variable) { return variable >= problem.size(); });
    (candidates ? of_candidate_ : of_problem_).push_back(expressions_.size() - 1);
  }
}

void Features::of_problem(const double* values, double* row) const noexcept {
  for (const std::size_t feature : of_problem_) row[feature] = expressions_[feature].evaluate(values);
}

void Features::of_candidate(const double* values, double* row) const noexcept {
  for (const std::size_t feature : of_candidate_) row[feature] = expressions_[feature].evaluate(values);
}

}  // namespace hone::learning
