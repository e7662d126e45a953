// The index: every problem seen on a device and its published answer.
//
// Reading is wait-free and never allocates: one probe of an open-addressing table of pointers and one acquire load of
// the answer. Slots and answers live as long as the index, so a reader can keep what it read without counting
// references; a replaced answer costs its own memory until then (upgrades of a problem are few).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <hone/candidate.hpp>
#include <hone/problem.hpp>
#include <hone/solver.hpp>

#include "engine/observed_times.hpp"
#include "engine/refusals.hpp"

namespace hone::engine {

struct Site;  // an operation on a device, see resolver.hpp
struct Slot;

// One published answer. Immutable but for what production tells of it. Without an invoker it is empty and says why.
struct Answer {
  Candidate candidate;
  Provenance provenance = Provenance::fallback;
  Timing timing;
  std::uint64_t workspace = 0;
  std::shared_ptr<const Invoker> invoker;
  std::string reason;
  Slot* slot = nullptr;
  const Answer* predecessor = nullptr;  // the answer that this one, an upgrade, replaced
  // The last median that production reported of the same candidate before it was published anew, ns; 0: none.
  double observed_before = 0;
  mutable ObservedTimes observed = {};
  // Set when the upgrade was doubted: production's word against it is taken once.
  mutable std::atomic<bool> doubted{false};

  // What a launch takes in production, ns; 0 as long as too little was reported.
  double observed_median() const noexcept {
    const double median = observed.median();
    return median > 0 ? median : observed_before;
  }
};

// The place of one problem on one device.
struct alignas(64) Slot {
  Slot(const ProblemKey& place, const Problem& p, std::shared_ptr<const Site> s)
      : key(place), problem(p), site(std::move(s)) {}

  // Makes the answer the current one: a single release store, after which every reader sees it complete.
  void publish(std::unique_ptr<Answer> answer);

  const ProblemKey key;  // of the index: the problem's, salted by the device
  std::atomic<const Answer*> current{nullptr};
  // Sampled count of finds, in units of one find, since `counted_since` (the engine's clock, ns).
  std::atomic<std::uint64_t> demand{0};
  std::atomic<std::int64_t> counted_since{0};
  // Set while the background neither works on the problem nor has finished with it: the find that brings `demand` to
  // `ask_again_at` asks again.
  std::atomic<bool> dropped{false};
  std::atomic<std::uint64_t> ask_again_at{0};
  // A Binding was made, whose reads are not counted.
  std::atomic<bool> bound{false};

  const Problem problem;
  const std::shared_ptr<const Site> site;

 private:
  std::mutex history_mutex_;
  std::vector<std::unique_ptr<const Answer>> history_;
};

class Index {
 public:
  Index();
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // The slot of the key, or nullptr. Wait-free; a slot is seen with everything that was written before its insertion.
  Slot* find(const ProblemKey& key) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    for (std::uint64_t i = key.low;; ++i) {
      Slot* slot = table->cells[i & table->mask].load(std::memory_order_acquire);
      if (slot == nullptr || slot->key == key) return slot;
    }
  }

  // Puts the slot in unless its key is there; returns the one that is. Serialised by a mutex that is held for
  // microseconds at most, nanoseconds as a rule (the table doubles now and then).
  Slot* insert(std::unique_ptr<Slot> slot);

  // The empty answers of problems that get no slot; they live as long as the index.
  Refusals& refusals() noexcept { return refusals_; }

  std::size_t size() const;
  // Visits the slots in the order of insertion, without those that are inserted meanwhile.
  void for_each(const std::function<void(Slot&)>& visit) const;

 private:
  struct Table {
    explicit Table(std::size_t capacity) : mask(capacity - 1), cells(capacity) {}
    const std::uint64_t mask;
    std::vector<std::atomic<Slot*>> cells;
  };
  static void place(Table& table, Slot* slot) noexcept;

  Refusals refusals_;
  std::atomic<const Table*> table_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is current; readers may still be in the others
};

}  // namespace hone::engine
