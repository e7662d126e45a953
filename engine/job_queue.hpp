// Which waiting problem is worth working on next.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/plan.hpp"

namespace hone::engine {

struct Slot;

// What is expected of the background's work on a problem.
struct Expectation {
  std::uint64_t demand = 1;                          // finds so far
  std::chrono::duration<double, std::nano> time{0};  // of one launch now; 0 when not known
  Provenance known = Provenance::fallback;
  bool asked = false;  // a caller waits for it
};

// Expected saving: how often the problem is asked for, times the time of one launch, times the share of it that work on
// such knowledge saves on average. What a caller waits for comes before everything else.
double priority(const Expectation& expectation) noexcept;

// Waiting problems, at most `capacity`. Not thread-safe.
class JobQueue {
 public:
  explicit JobQueue(std::size_t capacity) : capacity_(capacity) {}

  // The priority of a waiting problem now.
  using Priority = std::function<double(const Slot&)>;

  // Puts the slot in. When the queue was full, the slot of the lowest priority, perhaps this one, is taken out again
  // and returned.
  Slot* push(Slot& slot, const Priority& priority);
  // Takes out the slot of the highest priority among those that `eligible` accepts; nullptr when there is none. Of
  // equal priorities the one that waited longest.
  Slot* pop(const Priority& priority, const std::function<bool(const Slot&)>& eligible);

  std::size_t size() const noexcept { return slots_.size(); }

 private:
  std::size_t capacity_;
  std::vector<Slot*> slots_;  // in the order of arrival
};

}  // namespace hone::engine
