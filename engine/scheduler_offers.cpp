// Consent: upgrades that the program is asked about, and its answers.
#include "engine/scheduler.hpp"

#include <asio/post.hpp>

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

}  // namespace hone::engine
