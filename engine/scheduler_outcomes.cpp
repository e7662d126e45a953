// What workers measured becomes records, upgrades and events.
#include "engine/scheduler.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <asio/post.hpp>

#include <hone/error.hpp>

#include "engine/log.hpp"

namespace hone::engine {
namespace {

constexpr unsigned max_retries = 5;
constexpr auto first_retry = std::chrono::seconds(1);
constexpr auto last_retry = std::chrono::seconds(60);

}  // namespace

void Scheduler::on_outcome(Slot& slot, std::uint64_t run, const workers::Outcome& outcome) {
  Assignment* assignment = assignment_of(slot);
  if (assignment == nullptr || assignment->run != run) return;  // of a worker that was abandoned
  for (DeviceWorker* on : device_workers()) release_worker(*on, slot);
  counters_.running.fetch_sub(1, std::memory_order_relaxed);
  if (assignment->step != Step::prepare) count(counters_.trials, outcome.trials.size());
  switch (assignment->step) {
    case Step::prepare:
      on_prepared(slot, *assignment, outcome);
      break;
    case Step::verify:
      on_verified(slot, *assignment, outcome);
      break;
    case Step::tune:
      on_tuned(slot, *assignment, outcome);
      break;
  }
  dispatch();
}

void Scheduler::on_prepared(Slot& slot, Assignment& assignment, const workers::Outcome& outcome) {
  const Claim& claim = *assignment.request.claim;
  auto best = winner(outcome, claim.best.candidate);
  library_.submit(record_trials(slot, assignment, outcome));
  if (!best) return fail(slot, outcome.error ? outcome.error : make_error_code(Errc::not_applicable), outcome.cause);
  best->timing = claim.best.timing;
  publish(slot, *best, claim.known, EventKind::prepared);
  finish(slot);
}

void Scheduler::on_verified(Slot& slot, Assignment& assignment, const workers::Outcome& outcome) {
  const Claim claim = *assignment.request.claim;
  const Policy& policy = assignment.request.policy;
  const Conclusion conclusion = verdict(gather(*assignment.verification, outcome, claim.source, claim.rivals),
                                        {.tolerance = policy.tolerance, .tie_margin = policy.tie_margin});
  Event verified = event(EventKind::verified, slot);
  verified.after = claim.best.candidate;
  verified.before_timing = claim.best.timing;
  verified.after_timing = outcome.trials.empty() ? Timing{} : outcome.trials.front().timing;
  verified.verdict = conclusion.verdict;
  verified.ratio = conclusion.ratio;
  verified.error = outcome.error;
  verified.cause = conclusion.cause;
  std::vector<storage::Change> changes = record_trials(slot, assignment, outcome);
  if (outcome.stop == StopReason::cancelled) return fail(slot, Errc::shut_down, "the engine shuts down");
  count(counters_.verified);
  events_.emit(std::move(verified));
  conclusions_[&slot] = conclusion;

  const auto chosen = winner(outcome, conclusion.upgrade.value_or(claim.best.candidate));
  const auto record = [&](bool complete) {
    storage::Record made = make_record(stored_subject(slot), *chosen, outcome);
    made.complete = complete;
    return made;
  };
  switch (conclusion.verdict) {
    case Verdict::accept:
    case Verdict::re_rank:
      if (!chosen) return fail(slot, Errc::not_applicable, "the chosen candidate is not ready");
      return adopt(slot, *chosen, record(true), std::move(changes), [this, &slot] { finish(slot); });
    case Verdict::tune: {
      assignment.step = Step::tune;
      const auto continue_tuning = [this, &slot] {
        enqueue(slot);
        dispatch();
      };
      // A rival that is better is served while the search goes on.
      if (conclusion.upgrade && chosen) return adopt(slot, *chosen, record(false), std::move(changes), continue_tuning);
      library_.submit(std::move(changes));
      return continue_tuning();
    }
    case Verdict::inconclusive: {
      const auto later = [this, &slot, cause = conclusion.cause] { retry_later(slot, *assignment_of(slot), cause); };
      if (conclusion.upgrade && chosen) return adopt(slot, *chosen, record(false), std::move(changes), later);
      library_.submit(std::move(changes));
      return later();
    }
    case Verdict::failed:
      library_.submit(std::move(changes));
      return fail(slot, outcome.error ? outcome.error : make_error_code(Errc::not_applicable), conclusion.cause);
  }
}

void Scheduler::on_tuned(Slot& slot, Assignment& assignment, const workers::Outcome& outcome) {
  const Candidate incumbent = outcome.trials.empty() ? Candidate{} : outcome.trials.front().candidate;
  std::vector<storage::Change> changes = record_trials(slot, assignment, outcome);
  const auto best = tuned_winner(outcome, incumbent, assignment.request.policy.tie_margin);
  const bool cut_short = outcome.stop == StopReason::cancelled && (!best || best->prepared.candidate == incumbent);
  if (!best || cut_short) {
    library_.submit(std::move(changes));
    if (cut_short) return fail(slot, Errc::shut_down, "the search was cancelled");
    return fail(slot, outcome.error ? outcome.error : make_error_code(Errc::no_solution),
                outcome.cause.empty() ? "no candidate works" : outcome.cause);
  }
  count(counters_.tuned);
  Event tuned = event(EventKind::tuned, slot);
  tuned.after = best->prepared.candidate;
  tuned.after_timing = best->timing;
  tuned.cause = fmt::format("{} evaluations; stopped by {}", outcome.evaluations,
                            symbols(StopReason{})[static_cast<std::size_t>(outcome.stop)]);
  adopt(slot, *best, make_record(stored_subject(slot), *best, outcome), std::move(changes),
        [this, &slot, tuned = std::move(tuned)] {
          events_.emit(tuned);
          finish(slot);
        });
}

void Scheduler::adopt(Slot& slot, const Winner& best, storage::Record record, std::vector<storage::Change> changes,
                      std::function<void()> then) {
  assignment_of(slot)->state = State::storing;
  changes.emplace_back(storage::PutEnvironment{slot.site->environment});
  changes.emplace_back(storage::PutRecord{std::move(record)});
  // The library calls back on its own thread when the record is durable, or kept in memory because the store fails:
  // that is an event of the store's and no reason to withhold the answer.
  library_.submit(std::move(changes), [this, &slot, best, then = std::move(then)](std::error_code) {
    asio::post(strand_, [this, &slot, best, then] {
      publish(slot, best, Provenance::user, EventKind::upgraded);
      then();
    });
  });
}

void Scheduler::publish(Slot& slot, const Winner& best, Provenance provenance, EventKind kind) {
  auto answer = std::make_unique<Answer>();
  answer->candidate = best.prepared.candidate;
  answer->provenance = provenance;
  answer->timing = best.timing;
  answer->workspace = best.prepared.workspace;
  answer->invoker = best.prepared.invoker;
  Event published = event(kind, slot);
  published.after = answer->candidate;
  published.after_timing = answer->timing;
  const Answer* current = slot.current.load(std::memory_order_acquire);
  const bool same = current->invoker && current->candidate == answer->candidate;
  // The same candidate keeps its invoker, so that what callers have warmed up stays in use.
  if (same) answer->invoker = current->invoker;
  slot.publish(std::move(answer));
  if (same) return;
  count(kind == EventKind::upgraded ? counters_.upgrades : counters_.prepared);
  events_.emit(std::move(published));
}

std::vector<storage::Change> Scheduler::record_trials(Slot& slot, Assignment& assignment,
                                                      const workers::Outcome& outcome) {
  std::vector<storage::Change> changes;
  for (storage::Trial& trial : make_trials(stored_subject(slot), outcome)) {
    changes.emplace_back(storage::PutTrial{std::move(trial)});
  }
  for (const workers::Trial& trial : outcome.trials) {
    if (deserves_quarantine(trial.status)) quarantine(slot, assignment, trial.candidate, trial.reason, changes);
  }
  return changes;
}

void Scheduler::quarantine(Slot& slot, Assignment& assignment, const Candidate& candidate, const std::string& cause,
                           std::vector<storage::Change>& changes) {
  if (std::find(assignment.excluded.begin(), assignment.excluded.end(), candidate) != assignment.excluded.end()) return;
  assignment.excluded.push_back(candidate);
  const Subject subject = stored_subject(slot);
  changes.emplace_back(storage::PutQuarantine{{.key = subject.key,
                                               .problem = subject.problem,
                                               .environment = subject.environment,
                                               .candidate = candidate,
                                               .cause = cause,
                                               .date = subject.date}});
  count(counters_.quarantined);
  Event quarantined = event(EventKind::quarantined, slot);
  quarantined.after = candidate;
  quarantined.cause = cause;
  log().warn("{}: {} is quarantined: {}", quarantined.problem, to_string(candidate), cause);
  events_.emit(std::move(quarantined));
  const Answer* current = slot.current.load(std::memory_order_acquire);
  if (current->invoker && current->candidate == candidate) withdraw(slot, assignment, cause);
}

void Scheduler::withdraw(Slot& slot, const Assignment& assignment, const std::string& cause) {
  Resolution resolution = resolve(*slot.site, slot.problem, library_, Records::use, assignment.excluded);
  Event withdrawn = event(EventKind::withdrawn, slot);
  withdrawn.after = resolution.answer->candidate;
  withdrawn.after_timing = resolution.answer->timing;
  withdrawn.cause = cause;
  slot.publish(std::move(resolution.answer));
  events_.emit(std::move(withdrawn));
}

void Scheduler::retry_later(Slot& slot, Assignment& assignment, const std::string& cause) {
  if (assignment.retries == max_retries) {
    return fail(slot, Errc::timed_out, fmt::format("still inconclusive after {} retries: {}", max_retries, cause));
  }
  const auto pause = std::min<std::chrono::nanoseconds>(first_retry * (1U << assignment.retries), last_retry);
  ++assignment.retries;
  assignment.state = State::waiting;
  assignment.due = options_.clock->now() + pause;
}

void Scheduler::fail(Slot& slot, std::error_code error, const std::string& cause) {
  if (error != Errc::shut_down) {
    count(counters_.failed);
    Event failed = event(EventKind::job_failed, slot);
    failed.error = error;
    failed.cause = cause;
    log().warn("{}: the background gives up: {}", failed.problem, cause);
    events_.emit(std::move(failed));
  }
  finish(slot, error == Errc::shut_down ? error : std::error_code());
}

Subject Scheduler::stored_subject(const Slot& slot) const {
  return {slot.problem.key(), slot.problem.text(), slot.site->environment_id, options_.clock->date()};
}

}  // namespace hone::engine
