// What an operation's learned heuristic advises, as candidates that may run here.
#pragma once

#include <span>
#include <vector>

#include "engine/resolver.hpp"

namespace hone::engine {

struct Advised {
  bool sure = false;                                   // of the first
  std::vector<storage::RecordedCandidate> candidates;  // best first, valid, not excluded; none: no advice
};

// Nothing without a heuristic, or where it is unsure or fails (which is logged). A default configuration is that of the
// solver for this problem.
Advised advise(const Heuristic& heuristic, const Site& site, const Problem& problem,
               std::span<const Candidate> excluded) noexcept;

// The advice as a claim to be verified: a sure pick itself, else `default_answer` against the shortlist, so that what
// is not measured to be better does not replace it. An empty default answer: the first of the shortlist. Nothing
// without advice.
std::optional<Claim> claim_of(Advised advised, const Candidate& default_answer);

}  // namespace hone::engine
