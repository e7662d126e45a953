#include "engine/index.hpp"

namespace hone::engine {

void Slot::publish(std::unique_ptr<Answer> answer) {
  answer->slot = this;
  const std::lock_guard lock(history_mutex_);
  history_.push_back(std::move(answer));
  current.store(history_.back().get(), std::memory_order_release);
}

Index::Index() {
  tables_.push_back(std::make_unique<Table>(1024));
  table_.store(tables_.back().get(), std::memory_order_release);
}

Index::~Index() = default;

void Index::place(Table& table, Slot* slot) noexcept {
  for (std::uint64_t i = slot->key.low;; ++i) {
    auto& cell = table.cells[i & table.mask];
    if (cell.load(std::memory_order_relaxed) != nullptr) continue;
    cell.store(slot, std::memory_order_release);
    return;
  }
}

Slot* Index::insert(std::unique_ptr<Slot> slot) {
  const std::lock_guard lock(mutex_);
  if (Slot* present = find(slot->key)) return present;
  slots_.push_back(std::move(slot));
  Slot* inserted = slots_.back().get();
  // At most half full, so that a probe is short and always ends at an empty cell.
  if (2 * slots_.size() > tables_.back()->cells.size()) {
    auto larger = std::make_unique<Table>(2 * tables_.back()->cells.size());
    for (const auto& each : slots_) place(*larger, each.get());
    tables_.push_back(std::move(larger));
    table_.store(tables_.back().get(), std::memory_order_release);
  } else {
    place(*tables_.back(), inserted);
  }
  return inserted;
}

std::size_t Index::size() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

void Index::for_each(const std::function<void(Slot&)>& visit) const {
  std::vector<Slot*> slots;
  {
    const std::lock_guard lock(mutex_);
    slots.reserve(slots_.size());
    for (const auto& slot : slots_) slots.push_back(slot.get());
  }
  for (Slot* slot : slots) visit(*slot);
}

}  // namespace hone::engine
