#include "tools/learn/training.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <hone/error.hpp>
#include <limits>

namespace hone::tools::learn {
namespace {

void demand_numbers(const DataSet& data, const std::vector<learning::Feature>& features, const MeasuredProblem& problem,
                    const double* row) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (std::isnan(row[i])) {
      throw Error(Errc::invalid_option,
                  fmt::format("line {} of the data of {}: the feature {} = {} is not a number", problem.line,
                              data.operation, features[i].name, features[i].expression));
    }
  }
}

}  // namespace

void split_by_seed(DataSet& data, const Recipe& recipe, std::uint64_t seed) {
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < data.problem.size(); ++i) {
    const bool named =
        std::find(recipe.group_by.begin(), recipe.group_by.end(), data.problem[i].name) != recipe.group_by.end();
    if (named || (recipe.group_by.empty() && !data.problem[i].categorical())) fields.push_back(i);
  }
  for (MeasuredProblem& problem : data.problems) {
    if (problem.split == Split::dropped) continue;
    std::vector<double> group;
    for (const std::size_t field : fields) group.push_back(problem.values[field]);
    const std::uint64_t hash = XXH3_64bits_withSeed(group.data(), group.size() * sizeof(double), seed);
    const double place = static_cast<double>(hash >> 11) / 9007199254740992.0;
    problem.split = place < 0.6 ? Split::train : place < 0.8 ? Split::validation : Split::test;
  }
}

bool has_splits(const DataSet& data) {
  return std::any_of(data.problems.begin(), data.problems.end(),
                     [](const MeasuredProblem& problem) { return problem.split != Split::none; });
}

std::vector<std::size_t> problems_of(const DataSet& data, Split split) {
  std::vector<std::size_t> problems;
  for (std::size_t i = 0; i < data.problems.size(); ++i) {
    if (data.problems[i].split == split) problems.push_back(i);
  }
  return problems;
}

Matrix problem_rows(const DataSet& data, const std::vector<learning::Feature>& features,
                    std::span<const std::size_t> problems) {
  const learning::Features compiled(data.problem, data.candidate, features);
  Matrix rows(problems.size(), features.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const MeasuredProblem& problem = data.problems[problems[i]];
    compiled.of_problem(problem.values.data(), rows.row(i));
    demand_numbers(data, features, problem, rows.row(i));
  }
  return rows;
}

Matrix measurement_rows(const DataSet& data, const std::vector<learning::Feature>& features,
                        std::span<const std::size_t> problems) {
  const learning::Features compiled(data.problem, data.candidate, features);
  std::size_t count = 0;
  for (const std::size_t i : problems) count += data.problems[i].measurements.size();
  Matrix rows(count, features.size());
  std::size_t row = 0;
  for (const std::size_t i : problems) {
    const MeasuredProblem& problem = data.problems[i];
    std::vector<double> values = problem.values;
    values.resize(compiled.variables());
    for (const Measurement& each : problem.measurements) {
      const auto& candidate = data.candidates[each.candidate].values;
      std::copy(candidate.begin(), candidate.end(),
                values.begin() + static_cast<std::ptrdiff_t>(problem.values.size()));
      compiled.of_problem(values.data(), rows.row(row));
      compiled.of_candidate(values.data(), rows.row(row));
      demand_numbers(data, features, problem, rows.row(row));
      ++row;
    }
  }
  return rows;
}

learning::Model describe(const DataSet& data, std::vector<learning::Feature> features,
                         std::span<const std::size_t> problems) {
  learning::Model model;
  model.operation = data.operation;
  model.environment_class = data.environment_class;
  model.data_hash = data.hash;
  model.problem = data.problem;
  model.candidate = data.candidate;
  model.features = std::move(features);
  model.candidates = data.candidates;
  model.default_candidate = data.default_candidate;
  std::vector<std::size_t> wins(data.candidates.size());
  for (std::size_t v = 0; v < data.problem.size(); ++v) {
    learning::Bound bound{0, 0};
    if (!data.problem[v].categorical()) {
      bound = {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
      for (const std::size_t i : problems) {
        bound.low = std::min(bound.low, data.problems[i].values[v]);
        bound.high = std::max(bound.high, data.problems[i].values[v]);
      }
    }
    model.bounds.push_back(bound);
  }
  for (const std::size_t i : problems) {
    const auto& measurements = data.problems[i].measurements;
    const auto best = std::min_element(measurements.begin(), measurements.end(),
                                       [](const Measurement& a, const Measurement& b) { return a.time < b.time; });
    ++wins[best->candidate];
  }
  model.commonest = static_cast<std::uint32_t>(std::max_element(wins.begin(), wins.end()) - wins.begin());
  return model;
}

double log_regret(const DataSet& data, const MeasuredProblem& problem, std::uint32_t candidate) noexcept {
  return std::log(data.time_of(problem, candidate) / problem.best);
}

}  // namespace hone::tools::learn
