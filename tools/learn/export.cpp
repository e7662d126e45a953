#include "tools/learn/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hone/error.hpp>
#include <map>
#include <set>
#include <variant>

#include "storage/maintenance.hpp"
#include "storage/store_error.hpp"
#include "workers/validation.hpp"

namespace hone::tools::learn {
namespace {

std::uint64_t visit(const std::string& database, const std::function<void(storage::Change)>& change) {
  try {
    return storage::visit(database, change).damaged;
  } catch (const storage::StoreError& error) {
    throw Error(Errc::store_unavailable, fmt::format("{}: {}", database, error.what()));
  }
}

const storage::Trial* trial_of(const storage::Change& change) {
  if (const auto* put = std::get_if<storage::PutTrial>(&change)) return &put->trial;
  if (const auto* merge = std::get_if<storage::MergeTrial>(&change)) return &merge->trial;
  return nullptr;
}

bool is_of(const std::string& problem, const ProblemType& type) {
  return problem.starts_with(type.operation()) &&
         (problem.size() == type.operation().size() || problem[type.operation().size()] == ' ');
}

}  // namespace

CollectedTrials collect_trials(const std::string& database, const Operation& operation, const Device& device,
                               const std::optional<std::string>& environment) {
  std::map<std::uint64_t, Environment> environments;
  std::map<std::uint64_t, std::vector<storage::Trial>> trials;
  CollectedTrials collected;
  collected.damaged = visit(database, [&](const storage::Change& change) {
    if (const auto* put = std::get_if<storage::PutEnvironment>(&change)) {
      environments[put->environment.id()] = put->environment;
    } else if (const storage::Trial* trial = trial_of(change)) {
      if (is_of(trial->problem, operation.problem_type())) {
        trials[trial->environment].push_back(*trial);
      } else {
        ++collected.foreign;
      }
    }
  });
  std::uint64_t chosen = 0;
  std::size_t most = 0;
  for (const auto& [id, of_environment] : trials) {
    const bool wanted = environment ? fmt::format("{:016x}", id) == *environment : of_environment.size() > most;
    if (!wanted || !environments.contains(id)) continue;
    chosen = id;
    most = of_environment.size();
  }
  if (most == 0) {
    throw Error(Errc::invalid_option, fmt::format("{} has no trials of {}{}; hone tune makes some", database,
                                                  operation.problem_type().operation(),
                                                  environment ? " in the environment " + *environment : std::string()));
  }
  for (const auto& [id, of_environment] : trials) {
    if (id != chosen) collected.foreign += of_environment.size();
  }
  collected.environment = environments.at(chosen);
  for (storage::Trial& trial : trials.at(chosen)) {
    try {
      const Problem problem = Problem::parse(operation.problem_type(), trial.problem);
      const auto solver = workers::find_solver(operation, trial.candidate.candidate.solver);
      const bool is_default =
          solver ? !solver->applicable(problem, device) &&
                       workers::default_candidate(*solver, problem, device) == trial.candidate.candidate
                 : trial.candidate.candidate.configuration.empty();
      collected.trials.push_back({problem, std::move(trial), is_default});
    } catch (const std::exception& error) {
      collected.complaints.push_back(fmt::format("trial of '{}': {}", trial.problem, error.what()));
    }
  }
  return collected;
}

std::vector<Problem> problems_in(const std::string& database, const ProblemType& type) {
  std::set<std::string> texts;
  visit(database, [&](const storage::Change& change) {
    std::string text;
    if (const storage::Trial* trial = trial_of(change)) text = trial->problem;
    if (const auto* put = std::get_if<storage::PutRecord>(&change)) text = put->record.problem;
    if (const auto* merge = std::get_if<storage::MergeRecord>(&change)) text = merge->record.problem;
    if (is_of(text, type)) texts.insert(std::move(text));
  });
  std::vector<Problem> problems;
  for (const std::string& text : texts) problems.push_back(Problem::parse(type, text));
  return problems;
}

}  // namespace hone::tools::learn
