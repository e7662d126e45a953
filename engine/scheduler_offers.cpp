// What the program is told and asked: offers, its answers, and explanations.
#include "engine/scheduler.hpp"

#include <array>

#include <asio/post.hpp>
#include <asio/use_future.hpp>

#include "engine/log.hpp"

namespace hone::engine {

// Where nothing can be run yet there is nothing to keep.
bool Scheduler::needs_consent(const Slot& slot, const Upgrade& upgrade, const Policy& policy) noexcept {
  if (policy.adopt != Adopt::ask) return false;
  const Answer* current = slot.current.load(std::memory_order_acquire);
  return current->invoker && current->candidate != upgrade.winner.prepared.candidate;
}

void Scheduler::offer(Slot& slot, Upgrade upgrade) {
  Event offered = event(EventKind::offered, slot);
  offered.after = upgrade.winner.prepared.candidate;
  offered.after_timing = upgrade.winner.timing;
  offered.cause = upgrade.cause;
  const std::uint64_t number = next_offer_++;
  offered.offer = Offer([gate = options_.gate, &slot, number](bool adopted) {
    try {
      const std::lock_guard lock(gate->mutex);
      if (gate->scheduler != nullptr) gate->scheduler->answer_offer(slot, number, adopted);
    } catch (const std::exception& error) {
      log().error("an answer to an offer is lost: {}", error.what());
    }
  });
  offers_.insert_or_assign(&slot, PendingOffer{number, std::move(upgrade)});
  count(counters_.offered);
  events_.emit(std::move(offered));
}

void Scheduler::answer_offer(Slot& slot, std::uint64_t number, bool adopted) {
  asio::post(strand_, [this, &slot, number, adopted] {
    const auto offered = offers_.find(&slot);
    if (offered == offers_.end() || offered->second.number != number) return;
    Upgrade upgrade = std::move(offered->second.upgrade);
    offers_.erase(offered);
    if (!adopted) return keep(slot, std::move(upgrade));
    {
      const std::lock_guard lock(pending_mutex_);
      ++pending_;  // drain() waits for it
    }
    store_and_publish(slot, std::move(upgrade), {}, [this] { release_pending(); });
  });
}

// What was kept is this machine's record, so that the next start does not ask again.
void Scheduler::keep(Slot& slot, Upgrade declined) {
  log().info("{}: the program keeps {} and declines {}", slot.problem.text(),
             to_string(slot.current.load(std::memory_order_acquire)->candidate),
             to_string(declined.winner.prepared.candidate));
  if (!declined.kept) return;
  library_.submit({storage::PutEnvironment{slot.site->environment}, storage::PutRecord{*std::move(declined.kept)}});
}

void Scheduler::explain(const Slot& slot, Explanation& explanation) {
  asio::post(strand_, asio::use_future([&] { explain_on_strand(slot, explanation); })).get();
}

void Scheduler::explain_on_strand(const Slot& slot, Explanation& explanation) const {
  constexpr std::array<const char*, 3> tasks = {"prepare", "verify", "tune"};
  constexpr std::array<const char*, 4> states = {"queued", "running", "storing", "waiting"};
  if (const auto concluded = conclusions_.find(&slot); concluded != conclusions_.end()) {
    const Conclusion& conclusion = concluded->second;
    explanation.judgement = {conclusion.verdict, conclusion.ratio, conclusion.cause};
  }
  if (const auto offered = offers_.find(&slot); offered != offers_.end()) {
    explanation.offered = offered->second.upgrade.winner.prepared.candidate;
  }
  const auto found = assignments_.find(&slot);
  if (found == assignments_.end()) return;
  const Assignment& assignment = found->second;
  const Expectation expectation = expectation_of(assignment);
  Explanation::Background& background = explanation.background;
  background.state = states[static_cast<std::size_t>(assignment.state)];
  background.task = tasks[static_cast<std::size_t>(assignment.step)];
  background.queue_place = queue_.place_of(slot, [this](const Slot& each) { return priority_of(each); });
  background.queue_length = queue_.size();
  background.expected_saving = expected_saving(expectation);
  background.expected_cost = expected_cost(task_of(assignment), expectation, assignment.request.policy);
  background.retries = assignment.retries;
}

}  // namespace hone::engine
