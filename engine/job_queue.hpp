// Which waiting problem is worth working on next.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace hone::engine {

struct Slot;

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

  // How many waiting problems come before the slot, itself included: 1 for the next one, 0 when it does not wait.
  std::size_t place_of(const Slot& slot, const Priority& priority) const;

  std::size_t size() const noexcept { return slots_.size(); }

 private:
  std::size_t capacity_;
  std::vector<Slot*> slots_;  // in the order of arrival
};

}  // namespace hone::engine
