#include "engine/job_queue.hpp"

#include <algorithm>

namespace hone::engine {
namespace {

// Shares of the time that are typically saved; rough on purpose, only their order matters much.
double typical_saving(Provenance known) noexcept {
  switch (known) {
    case Provenance::fallback:
      return 0.5;
    case Provenance::model:
      return 0.2;
    case Provenance::system:
      return 0.2;
    case Provenance::hint:
      return 0.1;
    case Provenance::user:
      return 0.02;
  }
  return 0;
}

constexpr double guessed_time = 1e5;  // nanoseconds, where no time is known
constexpr double asked_boost = 1e30;  // above any saving

}  // namespace

double priority(const Expectation& expectation) noexcept {
  const double time = expectation.time.count() > 0 ? expectation.time.count() : guessed_time;
  const double saving = static_cast<double>(expectation.demand) * time * typical_saving(expectation.known);
  return expectation.asked ? asked_boost * (1 + saving) : saving;
}

Slot* JobQueue::push(Slot& slot, const Priority& priority) {
  slots_.push_back(&slot);
  if (slots_.size() <= capacity_) return nullptr;
  const auto coldest = std::min_element(slots_.rbegin(), slots_.rend(),
                                        [&](const Slot* a, const Slot* b) { return priority(*a) < priority(*b); });
  Slot* dropped = *coldest;
  slots_.erase(std::next(coldest).base());
  return dropped;
}

Slot* JobQueue::pop(const Priority& priority, const std::function<bool(const Slot&)>& eligible) {
  auto best = slots_.end();
  double best_priority = 0;
  for (auto each = slots_.begin(); each != slots_.end(); ++each) {
    if (!eligible(**each)) continue;
    if (const double p = priority(**each); best == slots_.end() || p > best_priority) {
      best = each;
      best_priority = p;
    }
  }
  if (best == slots_.end()) return nullptr;
  Slot* slot = *best;
  slots_.erase(best);
  return slot;
}

}  // namespace hone::engine
