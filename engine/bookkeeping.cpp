#include "engine/bookkeeping.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "engine/verdict.hpp"

namespace hone::engine {
namespace {

// A comparison's timing is of the same minute as its rival's; a trial's may be older.
Timing newest_timing(const workers::Outcome& outcome, const Candidate& candidate) {
  for (const workers::Comparison& comparison : outcome.comparisons) {
    if (comparison.challenger == candidate) return comparison.challenger_timing;
  }
  for (const workers::Trial& trial : outcome.trials) {
    if (trial.candidate != candidate) continue;
    // The first trial is the candidate that all comparisons are made against.
    if (&trial == &outcome.trials.front() && !outcome.comparisons.empty()) {
      return outcome.comparisons.front().incumbent_timing;
    }
    return trial.timing;
  }
  return {};
}

const workers::Trial* fastest_working(const workers::Outcome& outcome) {
  const workers::Trial* best = nullptr;
  for (const workers::Trial& trial : outcome.trials) {
    if (trial.status != TrialStatus::ok || !trial.timing.known() || !winner(outcome, trial.candidate)) continue;
    if (best == nullptr || trial.timing.median < best->timing.median) best = &trial;
  }
  return best;
}

bool failed(const workers::Outcome& outcome, const Candidate& candidate) {
  return std::any_of(outcome.trials.begin(), outcome.trials.end(), [&](const workers::Trial& trial) {
    return trial.candidate == candidate && trial.status != TrialStatus::ok;
  });
}

}  // namespace

std::optional<Winner> winner(const workers::Outcome& outcome, const Candidate& candidate) {
  for (const workers::Prepared& prepared : outcome.prepared) {
    if (prepared.candidate == candidate && prepared.invoker) {
      return Winner{prepared, newest_timing(outcome, candidate)};
    }
  }
  return {};
}

std::optional<Winner> tuned_winner(const workers::Outcome& outcome, const Candidate& incumbent, double tie_margin) {
  for (const workers::Comparison& comparison : outcome.comparisons) {
    if (!better(comparison, tie_margin) || failed(outcome, comparison.challenger)) continue;
    if (auto found = winner(outcome, comparison.challenger)) return found;
  }
  if (!failed(outcome, incumbent)) {
    if (auto found = winner(outcome, incumbent)) return found;
  }
  const workers::Trial* fastest = fastest_working(outcome);
  return fastest != nullptr ? winner(outcome, fastest->candidate) : std::nullopt;
}

storage::Record make_record(const Subject& subject, const Winner& best, const workers::Outcome& outcome,
                            std::size_t max_rivals) {
  storage::Record record;
  record.key = subject.key;
  record.problem = subject.problem;
  record.environment = subject.environment;
  record.date = subject.date;
  record.best = {best.prepared.candidate, best.timing, best.prepared.workspace};
  record.budget_spent = outcome.busy;
  record.evaluations = outcome.evaluations;
  record.stop = outcome.stop;
  record.complete = outcome.stop == StopReason::exhausted || outcome.stop == StopReason::patience;

  std::vector<storage::RecordedCandidate> others;
  for (const workers::Trial& trial : outcome.trials) {
    if (trial.status != TrialStatus::ok || trial.candidate == best.prepared.candidate) continue;
    others.push_back({trial.candidate, newest_timing(outcome, trial.candidate), trial.workspace});
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.timing.median < b.timing.median; });
  std::map<std::string, int> of_solver;
  for (storage::RecordedCandidate& other : others) {
    if (record.rivals.size() == max_rivals) break;
    if (++of_solver[other.candidate.solver] <= 2) record.rivals.push_back(std::move(other));
  }
  return record;
}

std::vector<storage::Trial> make_trials(const Subject& subject, const workers::Outcome& outcome) {
  std::vector<storage::Trial> trials;
  trials.reserve(outcome.trials.size());
  for (const workers::Trial& trial : outcome.trials) {
    trials.push_back({.key = subject.key,
                      .problem = subject.problem,
                      .environment = subject.environment,
                      .candidate = {trial.candidate, trial.timing, trial.workspace},
                      .status = trial.status,
                      .reason = trial.reason,
                      .date = subject.date,
                      .facts = trial.facts});
  }
  return trials;
}

std::vector<Candidate> fastest_of(const std::vector<workers::Trial>& trials, std::size_t count) {
  std::vector<const workers::Trial*> working;
  for (const workers::Trial& trial : trials) {
    if (trial.status == TrialStatus::ok && trial.timing.known()) working.push_back(&trial);
  }
  std::stable_sort(working.begin(), working.end(),
                   [](const auto* a, const auto* b) { return a->timing.median < b->timing.median; });
  std::vector<Candidate> fastest;
  for (const workers::Trial* trial : working) {
    if (fastest.size() == count) break;
    if (std::find(fastest.begin(), fastest.end(), trial->candidate) == fastest.end())
      fastest.push_back(trial->candidate);
  }
  return fastest;
}

void explain(const storage::Found& found, Explanation& explanation) {
  constexpr std::array<const char*, 5> sources = {"this environment", "an environment of the same device",
                                                  "an environment of the same architecture",
                                                  "an environment of the same vendor", "a foreign environment"};
  const storage::Record& record = found.record;
  Explanation::Evidence evidence;
  evidence.source = sources[static_cast<std::size_t>(found.match)];
  evidence.measured = record.measured;
  evidence.best = {record.best.candidate, record.best.timing};
  for (const auto& rival : record.rivals) evidence.rivals.push_back({rival.candidate, rival.timing});
  evidence.date = record.date;
  evidence.evaluations = record.evaluations;
  evidence.budget_spent = record.budget_spent;
  evidence.stop = record.stop;
  evidence.complete = record.complete;
  evidence.cold_cache = record.measurement.cold_cache;
  explanation.evidence = std::move(evidence);
  if (record.judgement) {
    explanation.judgement = {record.judgement->verdict, record.judgement->ratio, record.judgement->cause};
  }
}

bool deserves_quarantine(TrialStatus status) noexcept {
  switch (status) {
    case TrialStatus::ok:
    case TrialStatus::not_applicable:
      return false;
    case TrialStatus::prepare_failed:
    case TrialStatus::launch_failed:
    case TrialStatus::wrong_result:
    case TrialStatus::timed_out:
    case TrialStatus::crashed:
      return true;
  }
  return true;
}

}  // namespace hone::engine
