#include "workers/validation.hpp"

#include <fmt/format.h>

namespace hone::workers {

std::shared_ptr<const Solver> find_solver(const Operation& operation, std::string_view id) {
  for (const auto& solver : operation.solvers()) {
    if (solver->id() == id) return solver;
  }
  return nullptr;
}

std::optional<ValidCandidate> validate(const Operation& operation, const Problem& problem, const Device& device,
                                       const Candidate& candidate, std::string& reason) {
  auto solver = find_solver(operation, candidate.solver);
  if (!solver) {
    reason = fmt::format("there is no solver '{}' here", candidate.solver);
    return {};
  }
  if (solver->version() != candidate.version) {
    reason = fmt::format("solver '{}' has version {}, not {}", candidate.solver, solver->version(), candidate.version);
    return {};
  }
  if (const Refusal refusal = solver->applicable(problem, device)) {
    reason = *refusal;
    return {};
  }
  Configuration configuration;
  if (const SearchSpace space = solver->search_space(problem, device);
      !space.empty() || !candidate.configuration.empty()) {
    auto parsed = space.parse(candidate.configuration);
    if (!parsed) {
      reason = fmt::format("configuration '{}' lies outside the space of solver '{}'", candidate.configuration,
                           candidate.solver);
      return {};
    }
    configuration = *std::move(parsed);
  }
  const std::uint64_t workspace = solver->workspace(problem, configuration);
  if (workspace > operation.workspace_limit(problem)) {
    reason = fmt::format("solver '{}' needs more workspace than the problem allows", candidate.solver);
    return {};
  }
  return ValidCandidate{std::move(solver), std::move(configuration), workspace};
}

Candidate default_candidate(const Solver& solver, const Problem& problem, const Device& device) {
  return {std::string(solver.id()), solver.version(), solver.default_configuration(problem, device).text()};
}

}  // namespace hone::workers
