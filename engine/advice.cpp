#include "engine/advice.hpp"

#include <algorithm>
#include <hone/heuristic.hpp>

#include "engine/log.hpp"
#include "workers/validation.hpp"

namespace hone::engine {
namespace {

// The pick as a candidate when its solver is here, in this version and applicable.
std::optional<Candidate> candidate_of(const Pick& pick, const Site& site, const Problem& problem) {
  const auto solver = workers::find_solver(*site.operation, pick.solver);
  if (!solver || solver->version() != pick.version || solver->applicable(problem, *site.device)) return {};
  if (!pick.configuration) return workers::default_candidate(*solver, problem, *site.device);
  return Candidate{pick.solver, pick.version, *pick.configuration};
}

}  // namespace

Advised advise(const Heuristic& heuristic, const Site& site, const Problem& problem,
               std::span<const Candidate> excluded) noexcept {
  try {
    const auto usable = [&](const Pick& pick) {
      const auto candidate = candidate_of(pick, site, problem);
      return candidate && std::find(excluded.begin(), excluded.end(), *candidate) == excluded.end();
    };
    const Advice advice = heuristic.advise(problem, site.environment, usable);
    Advised advised{.sure = advice.confidence == Confidence::sure};
    if (advice.confidence == Confidence::unsure) {
      log().debug("{}: the heuristic is unsure: {}", problem.text(), advice.reason);
      return {};
    }
    for (const Pick& pick : advice.picks) {
      const auto candidate = candidate_of(pick, site, problem);
      std::string reason;
      if (const auto valid = candidate ? workers::validate(*site.operation, problem, *site.device, *candidate, reason)
                                       : std::nullopt) {
        advised.candidates.push_back({*candidate, {}, valid->workspace});
      } else if (advised.candidates.empty()) {
        advised.sure = false;  // of this one it was
      }
    }
    return advised;
  } catch (const std::exception& error) {
    log().warn("{}: the heuristic fails: {}", problem.text(), error.what());
    return {};
  }
}

std::optional<Claim> claim_of(Advised advised, const Candidate& default_answer) {
  if (advised.candidates.empty()) return {};
  Claim claim;
  claim.known = Provenance::model;
  claim.source = Source::predicted;
  claim.shortlist = !advised.sure;
  if (!advised.sure && !default_answer.solver.empty()) {
    std::erase_if(advised.candidates, [&](const auto& each) { return each.candidate == default_answer; });
    claim.best.candidate = default_answer;
    claim.rivals = std::move(advised.candidates);
  } else {
    claim.best = std::move(advised.candidates.front());
    claim.rivals.assign(std::make_move_iterator(advised.candidates.begin() + 1),
                        std::make_move_iterator(advised.candidates.end()));
  }
  return claim;
}

}  // namespace hone::engine
