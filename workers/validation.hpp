// Whether a named candidate may be prepared for a problem here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <hone/candidate.hpp>
#include <hone/operation.hpp>

namespace hone::workers {

struct ValidCandidate {
  std::shared_ptr<const Solver> solver;
  Configuration configuration;
  std::uint64_t workspace = 0;  // bytes
};

// The operation's solver of this id; nullptr when there is none.
std::shared_ptr<const Solver> find_solver(const Operation& operation, std::string_view id);

// The candidate's solver and configuration when the solver is known in this version and applicable, the configuration
// lies inside its space, and the workspace fits; else nothing, and `reason` says why. What the solver throws passes on.
std::optional<ValidCandidate> validate(const Operation& operation, const Problem& problem, const Device& device,
                                       const Candidate& candidate, std::string& reason);

// The solver with its default configuration as a candidate.
Candidate default_candidate(const Solver& solver, const Problem& problem, const Device& device);

}  // namespace hone::workers
