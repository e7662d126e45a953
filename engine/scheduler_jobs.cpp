// Which jobs the workers are given.
#include "engine/scheduler.hpp"

#include <algorithm>

#include "engine/near_problems.hpp"
#include "workers/validation.hpp"

namespace hone::engine {

namespace {

constexpr std::size_t near_starts = 3;

void add_missing(std::vector<Candidate>& candidates, std::vector<Candidate> more) {
  for (Candidate& candidate : more) {
    if (std::find(candidates.begin(), candidates.end(), candidate) != candidates.end()) continue;
    candidates.push_back(std::move(candidate));
  }
}

std::vector<workers::Trial> to_trials(std::vector<storage::Trial> stored) {
  std::vector<workers::Trial> trials;
  for (storage::Trial& trial : stored) {
    trials.push_back({.candidate = std::move(trial.candidate.candidate),
                      .status = trial.status,
                      .timing = trial.candidate.timing,
                      .workspace = trial.candidate.workspace,
                      .reason = std::move(trial.reason),
                      .facts = std::move(trial.facts)});
  }
  return trials;
}

}  // namespace

using std::chrono::nanoseconds;

workers::Subject Scheduler::make_subject(const Assignment& assignment) const {
  const Slot& slot = *assignment.request.slot;
  workers::Subject subject{slot.problem, slot.site->operation, assignment.excluded};
  for (const auto& each : library_.quarantined(slot.problem.key(), slot.site->environment_id)) {
    subject.quarantined.push_back(each.candidate);
  }
  return subject;
}

workers::Job Scheduler::make_job(const Assignment& assignment) const {
  const Request& request = assignment.request;
  const Slot& slot = *request.slot;
  workers::Subject subject = make_subject(assignment);
  if (assignment.step == Step::prepare) return workers::PrepareJob{std::move(subject), request.claim->best.candidate};

  workers::Budget budget;
  budget.patience = request.policy.patience;
  budget.wall_time = request.work.boxed ? request.policy.max_tuning_time.value() : nanoseconds::max();
  budget.evaluations = request.work.boxed ? request.policy.max_evaluations.value() : unlimited;
  std::vector<Candidate> others = others_of(assignment);
  if (assignment.step == Step::verify) {
    workers::VerifyJob job{.subject = std::move(subject), .claimed = request.claim->best.candidate};
    if (request.claim->source != Source::predicted && same_caches(*request.claim, request.policy) &&
        request.claim->best.timing.known()) {
      job.reported = request.claim->best.timing.median;
    }
    const std::uint64_t least = request.predecessor ? 1 : 0;
    others.resize(std::min<std::size_t>(others.size(), std::max(request.policy.verify_candidates - 1, least)));
    job.rivals = std::move(others);
    job.tolerance = request.policy.tolerance;
    job.tie_margin = request.policy.tie_margin;
    job.wall_time = budget.wall_time;
    return job;
  }
  workers::TuneJob job{.subject = std::move(subject), .incumbent = incumbent_of(assignment)};
  job.first = std::move(others);
  job.search_parameters = request.work.search_parameters;
  job.may_compile = request.work.may_compile;
  job.tie_margin = request.policy.tie_margin;
  job.budget = budget;
  job.seed = slot.problem.key().low;
  const std::vector<NearRecord> near = near_records(*slot.site, slot.problem, library_);
  add_missing(job.first, near_candidates(*slot.site, slot.problem, near, near_starts));
  if (job.search_parameters) {
    job.elsewhere = to_trials(near_trials(near, library_, cold_cache(request.policy)));
  }
  if (request.work.resume) {
    job.past = past_trials(slot, cold_cache(request.policy));
    // What is observed is not suggested again: the best of it must be measured for itself.
    add_missing(job.first, fastest_of(job.past, 3));
  }
  return job;
}

std::vector<workers::Trial> Scheduler::past_trials(const Slot& slot, bool cold_cache) const {
  std::vector<storage::Trial> stored = library_.trials(slot.problem.key(), slot.site->environment_id);
  std::erase_if(stored, [cold_cache](const storage::Trial& trial) { return trial.cold_cache != cold_cache; });
  return to_trials(std::move(stored));
}

Candidate Scheduler::incumbent_of(const Assignment& assignment) const {
  const Slot& slot = *assignment.request.slot;
  const Answer* answer = slot.current.load(std::memory_order_acquire);
  if (answer->invoker) return answer->candidate;
  if (assignment.request.claim) return assignment.request.claim->best.candidate;
  for (const auto& solver : slot.site->operation->solvers()) {
    if (solver->applicable(slot.problem, *slot.site->device)) continue;
    return workers::default_candidate(*solver, slot.problem, *slot.site->device);
  }
  return {};
}

// Everything that speaks against the candidate under test, most telling first: what it replaced and production misses,
// what answers now, what the record names, and the fallback.
std::vector<Candidate> Scheduler::others_of(const Assignment& assignment) const {
  const Slot& slot = *assignment.request.slot;
  const std::optional<Claim>& claim = assignment.request.claim;
  const Candidate subject = assignment.step == Step::verify ? claim->best.candidate : incumbent_of(assignment);
  std::vector<Candidate> others;
  const auto add = [&](const Candidate& candidate) {
    if (candidate == subject || std::find(others.begin(), others.end(), candidate) != others.end()) return;
    others.push_back(candidate);
  };
  if (assignment.request.predecessor) add(*assignment.request.predecessor);
  if (const Answer* answer = slot.current.load(std::memory_order_acquire); answer->invoker) add(answer->candidate);
  if (claim) {
    add(claim->best.candidate);
    for (const auto& rival : claim->rivals) add(rival.candidate);
  }
  const Operation& operation = *slot.site->operation;
  if (const auto fallback = workers::find_solver(operation, operation.fallback())) {
    if (!fallback->applicable(slot.problem, *slot.site->device)) {
      add(workers::default_candidate(*fallback, slot.problem, *slot.site->device));
    }
  }
  return others;
}

}  // namespace hone::engine
