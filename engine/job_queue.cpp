#include "engine/job_queue.hpp"

#include <algorithm>

namespace hone::engine {
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

std::size_t JobQueue::place_of(const Slot& slot, const Priority& priority) const {
  const auto own = std::find(slots_.begin(), slots_.end(), &slot);
  if (own == slots_.end()) return 0;
  const double value = priority(slot);
  std::size_t place = 1;
  for (auto each = slots_.begin(); each != slots_.end(); ++each) {
    const double other = priority(**each);
    if (other > value || (other == value && each < own)) ++place;
  }
  return place;
}

}  // namespace hone::engine
