#include "engine/resolver.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/advice.hpp"
#include "engine/log.hpp"
#include "workers/validation.hpp"

namespace hone::engine {
namespace {

using storage::EnvironmentMatch;
using storage::RecordedCandidate;

class Resolving {
 public:
  Resolving(const Site& site, const Problem& problem, storage::Library& library, std::span<const Candidate> excluded)
      : site_(site), problem_(problem), library_(library), excluded_(excluded.begin(), excluded.end()) {
    for (auto& each : library.quarantined(problem.key(), site.environment_id)) {
      excluded_.push_back(std::move(each.candidate));
    }
  }

  Resolution run(Records records) {
    if (records == Records::use) {
      const std::string text = problem_.text();
      take(library_.find(problem_.key(), text, site_.environment), false);
      if (!result_.claim) take(library_.find_system(problem_.key(), text, site_.environment), true);
      if (!result_.claim) ask_heuristic();
    }
    if (!result_.answer) answer_from_rivals();
    if (!result_.answer) answer_from_order();
    return std::move(result_);
  }

 private:
  bool is_quarantined(const Candidate& candidate) const {
    return std::find(excluded_.begin(), excluded_.end(), candidate) != excluded_.end();
  }

  void take(const std::optional<storage::Found>& found, bool system) {
    if (!found) return;
    Claim claim;
    claim.known = system                                   ? Provenance::system
                  : found->match == EnvironmentMatch::same ? Provenance::user
                                                           : Provenance::hint;
    if (!found->record.measured) claim.known = Provenance::model;
    claim.source = !found->record.measured                         ? Source::predicted
                   : found->match <= EnvironmentMatch::same_device ? Source::same_device
                                                                   : Source::foreign_device;
    claim.complete = found->record.complete;
    claim.cold_cache = found->record.measurement.cold_cache;
    std::vector<RecordedCandidate> usable;
    usable.reserve(1 + found->record.rivals.size());
    if (accept(found->record.best)) usable.push_back(found->record.best);
    for (const RecordedCandidate& rival : found->record.rivals) {
      if (accept(rival)) usable.push_back(rival);
    }
    if (usable.empty()) return;
    // A rival that steps in for a candidate that cannot run here was measured, but not as the best: verify it.
    if (!(usable.front() == found->record.best) && claim.known == Provenance::user) claim.known = Provenance::hint;
    claim.best = usable.front();
    claim.rivals.assign(usable.begin() + 1, usable.end());
    result_.answer = prepare_now(claim.best, claim.known);
    result_.claim_answered = result_.answer != nullptr;
    result_.claim = std::move(claim);
    result_.runnable = true;
  }

  void ask_heuristic() {
    const auto heuristic = site_.operation->heuristic();
    if (!heuristic || !heuristic->immediate()) return;
    Advised advised = advise(*heuristic, site_, problem_, excluded_);
    if (advised.candidates.empty()) return;
    result_.runnable = true;
    if (!advised.sure) answer_from_order();
    const bool default_answers = result_.answer && result_.answer->invoker;
    result_.claim = claim_of(std::move(advised), default_answers ? result_.answer->candidate : Candidate{});
    if (result_.claim->shortlist) {
      result_.claim_answered = default_answers;
    } else {
      result_.answer = prepare_now(result_.claim->best, Provenance::model);
      result_.claim_answered = result_.answer != nullptr;
    }
  }

  bool accept(const RecordedCandidate& recorded) {
    std::string reason;
    try {
      if (is_quarantined(recorded.candidate)) {
        reason = "it is quarantined";
      } else if (workers::validate(*site_.operation, problem_, *site_.device, recorded.candidate, reason)) {
        return true;
      }
    } catch (const std::exception& error) {
      reason = error.what();
    }
    ++result_.skipped;
    log().info("{}: stored candidate {} is skipped: {}", problem_.text(), to_string(recorded.candidate), reason);
    return false;
  }

  // Nothing when the candidate compiles or fails.
  std::unique_ptr<Answer> prepare_now(const RecordedCandidate& recorded, Provenance provenance) {
    std::string reason;
    try {
      const auto valid = workers::validate(*site_.operation, problem_, *site_.device, recorded.candidate, reason);
      if (!valid || valid->solver->compiles(problem_)) return nullptr;
      auto answer = std::make_unique<Answer>();
      answer->candidate = recorded.candidate;
      answer->provenance = provenance;
      answer->timing = recorded.timing;
      answer->workspace = valid->workspace;
      answer->invoker = valid->solver->prepare(problem_, valid->configuration, *site_.device);
      return answer->invoker ? std::move(answer) : nullptr;
    } catch (const std::exception& error) {
      log().warn("{}: {} cannot be prepared: {}", problem_.text(), to_string(recorded.candidate), error.what());
      return nullptr;
    }
  }

  // What was measured next to a best that still has to be compiled is a better answer than a default.
  void answer_from_rivals() {
    if (!result_.claim) return;
    for (const RecordedCandidate& rival : result_.claim->rivals) {
      result_.answer = prepare_now(rival, result_.claim->known);
      if (result_.answer) return;
    }
  }

  void answer_from_order() {
    std::string refusals;
    std::string pending;
    for (const auto& solver : site_.operation->solvers()) {
      std::string reason;
      try {
        if (const Refusal refusal = solver->applicable(problem_, *site_.device)) {
          reason = *refusal;
        } else {
          RecordedCandidate candidate{workers::default_candidate(*solver, problem_, *site_.device), {}, 0};
          if (is_quarantined(candidate.candidate)) {
            reason = "its default is quarantined";
          } else if (solver->compiles(problem_)) {
            result_.runnable = true;
            pending = solver->id();
          } else if (auto answer = prepare_now(candidate, Provenance::fallback)) {
            result_.runnable = true;
            result_.answer = std::move(answer);
            return;
          } else {
            reason = "it cannot be prepared";
          }
        }
      } catch (const std::exception& error) {
        reason = error.what();
      }
      if (!reason.empty()) refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", solver->id(), reason);
    }
    result_.answer = std::make_unique<Answer>();
    result_.answer->reason =
        result_.runnable ? fmt::format("{} is being compiled; ask again or use async_settle", pending)
                         : fmt::format("no solver of {} can run this problem: {}", problem_.operation(), refusals);
  }

  const Site& site_;
  const Problem& problem_;
  storage::Library& library_;
  std::vector<Candidate> excluded_;
  Resolution result_;
};

}  // namespace

Environment environment_of(const Device& device, const Operation& operation) {
  Environment environment = device.environment();
  environment.facts.merge(operation.facts());
  return environment;
}

Resolution resolve(const Site& site, const Problem& problem, storage::Library& library, Records records,
                   std::span<const Candidate> excluded) {
  return Resolving(site, problem, library, excluded).run(records);
}

}  // namespace hone::engine
