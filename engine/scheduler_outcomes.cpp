// What workers measured becomes records, upgrades and events.
#include "engine/scheduler.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

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
  if (outcome.error == Errc::no_device) lose_device(*slot.site->device, outcome.cause);
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
  Upgrade upgrade{.kind = EventKind::prepared, .winner = *std::move(best), .provenance = claim.known};
  if (needs_consent(slot, upgrade, assignment.request.policy)) {
    offer(slot, std::move(upgrade));
  } else {
    publish(slot, upgrade);
  }
  finish(slot);
}

void Scheduler::on_verified(Slot& slot, Assignment& assignment, const workers::Outcome& outcome) {
  const Claim claim = *assignment.request.claim;
  const Policy& policy = assignment.request.policy;
  const std::span<const storage::RecordedCandidate> recorded(claim.rivals.data(),
                                                             same_caches(claim, policy) ? claim.rivals.size() : 0);
  const Conclusion conclusion = verdict(gather(*assignment.verification, outcome, claim.source, recorded),
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
  const auto upgrade = [&](bool complete) {
    Upgrade made = make_upgrade(slot, assignment, *chosen, outcome, conclusion);
    made.record->complete = complete;
    return made;
  };
  switch (conclusion.verdict) {
    case Verdict::accept:
    case Verdict::re_rank:
      if (!chosen) return fail(slot, Errc::not_applicable, "the chosen candidate is not ready");
      return adopt(slot, upgrade(true), std::move(changes), [this, &slot] { finish(slot); });
    case Verdict::tune: {
      assignment.step = Step::tune;
      const auto continue_tuning = [this, &slot] {
        enqueue(slot);
        dispatch();
      };
      // A rival that is better is served while the search goes on; a program that is asked is asked once, at the end.
      if (conclusion.upgrade && chosen && policy.adopt == Adopt::automatic) {
        return adopt(slot, upgrade(false), std::move(changes), continue_tuning);
      }
      library_.submit(std::move(changes));
      return continue_tuning();
    }
    case Verdict::inconclusive: {
      const auto later = [this, &slot, cause = conclusion.cause] { retry_later(slot, *assignment_of(slot), cause); };
      // What only rivals can judge is a tie until they do: the next start has nothing to measure.
      if ((conclusion.upgrade || claim.source == Source::predicted) && chosen) {
        return adopt(slot, upgrade(false), std::move(changes), later);
      }
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
  // A verification that led here is told with its result.
  const auto conclusion = conclusions_.find(&slot);
  const bool verified = conclusion != conclusions_.end() && assignment.verification;
  adopt(slot,
        make_upgrade(slot, assignment, *best, outcome,
                     verified ? std::optional(conclusion->second) : std::optional<Conclusion>()),
        std::move(changes), [this, &slot, tuned = std::move(tuned)] {
          events_.emit(tuned);
          finish(slot);
        });
}

Scheduler::Upgrade Scheduler::make_upgrade(const Slot& slot, const Assignment& assignment, const Winner& best,
                                           const workers::Outcome& outcome,
                                           const std::optional<Conclusion>& conclusion) const {
  const auto record_of = [&](const Winner& of) {
    storage::Record record = make_record(stored_subject(slot), of, outcome);
    record.measurement.cold_cache = cold_cache(assignment.request.policy);
    if (conclusion) record.judgement = {conclusion->verdict, conclusion->ratio, conclusion->cause};
    return record;
  };
  Upgrade upgrade{.winner = best, .record = record_of(best)};
  if (best.prepared.candidate == assignment.request.predecessor) {
    upgrade.kind = EventKind::rolled_back;
    upgrade.cause = "production and a measurement in turns say that it is faster than what replaced it";
  }
  if (const Answer* current = slot.current.load(std::memory_order_acquire); current->invoker) {
    if (const auto incumbent = winner(outcome, current->candidate)) upgrade.kept = record_of(*incumbent);
  }
  return upgrade;
}

void Scheduler::adopt(Slot& slot, Upgrade upgrade, std::vector<storage::Change> changes, std::function<void()> then) {
  Assignment& assignment = *assignment_of(slot);
  if (needs_consent(slot, upgrade, assignment.request.policy)) {
    library_.submit(std::move(changes));
    offer(slot, std::move(upgrade));
    return then();
  }
  assignment.state = State::storing;
  assignment.recorded = true;
  store_and_publish(slot, std::move(upgrade), std::move(changes), std::move(then));
}

void Scheduler::store_and_publish(Slot& slot, Upgrade upgrade, std::vector<storage::Change> changes,
                                  std::function<void()> then) {
  if (upgrade.record) {
    changes.emplace_back(storage::PutEnvironment{slot.site->environment});
    changes.emplace_back(storage::PutRecord{*std::move(upgrade.record)});
  }
  // The library calls back on its own thread when the record is durable, or kept in memory because the store fails:
  // that is an event of the store's and no reason to withhold the answer.
  library_.submit(std::move(changes),
                  [this, &slot, upgrade = std::move(upgrade), then = std::move(then)](std::error_code) {
                    asio::post(strand_, [this, &slot, upgrade, then] {
                      publish(slot, upgrade);
                      then();
                    });
                  });
}

void Scheduler::publish(Slot& slot, const Upgrade& upgrade) {
  auto answer = std::make_unique<Answer>();
  answer->candidate = upgrade.winner.prepared.candidate;
  answer->provenance = upgrade.provenance;
  answer->timing = upgrade.winner.timing;
  answer->workspace = upgrade.winner.prepared.workspace;
  answer->invoker = upgrade.winner.prepared.invoker;
  Event published = event(upgrade.kind, slot);
  published.after = answer->candidate;
  published.after_timing = answer->timing;
  published.cause = upgrade.cause;
  const Answer* current = slot.current.load(std::memory_order_acquire);
  const bool same = current->invoker && current->candidate == answer->candidate;
  if (same) {
    // The same candidate keeps its invoker, so that what callers have warmed up stays in use.
    answer->invoker = current->invoker;
    answer->predecessor = current->predecessor;
    answer->observed_before = current->observed_median();
    answer->doubted = current->doubted.load(std::memory_order_relaxed);
  } else if (upgrade.kind == EventKind::upgraded && current->invoker) {
    answer->predecessor = current;
  }
  replace_answer(slot, std::move(answer));
  if (same) return;
  count(upgrade.kind == EventKind::prepared      ? counters_.prepared
        : upgrade.kind == EventKind::rolled_back ? counters_.rolled_back
                                                 : counters_.upgrades);
  events_.emit(std::move(published));
}

void Scheduler::replace_answer(Slot& slot, std::unique_ptr<Answer> answer) {
  offers_.erase(&slot);
  slot.publish(std::move(answer));
}

std::vector<storage::Change> Scheduler::record_trials(Slot& slot, Assignment& assignment,
                                                      const workers::Outcome& outcome) {
  std::vector<storage::Change> changes;
  for (storage::Trial& trial : make_trials(stored_subject(slot), outcome)) {
    trial.cold_cache = cold_cache(assignment.request.policy);
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
  if (const auto offered = offers_.find(&slot);
      offered != offers_.end() && offered->second.upgrade.winner.prepared.candidate == candidate) {
    offers_.erase(offered);
  }
  const Answer* current = slot.current.load(std::memory_order_acquire);
  if (current->invoker && current->candidate == candidate) withdraw(slot, assignment, cause);
}

void Scheduler::withdraw(Slot& slot, const Assignment& assignment, const std::string& cause) {
  Resolution resolution = resolve(*slot.site, slot.problem, library_, Records::use, assignment.excluded);
  Event withdrawn = event(EventKind::withdrawn, slot);
  withdrawn.after = resolution.answer->candidate;
  withdrawn.after_timing = resolution.answer->timing;
  withdrawn.cause = cause;
  replace_answer(slot, std::move(resolution.answer));
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
  finish(slot, error == Errc::shut_down || error == Errc::no_device ? error : std::error_code());
}

Subject Scheduler::stored_subject(const Slot& slot) const {
  return {slot.problem.key(), slot.problem.text(), slot.site->environment_id, options_.clock->date()};
}

}  // namespace hone::engine
