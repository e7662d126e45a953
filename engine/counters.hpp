// What Engine::statistics reads: counters that any thread may add to.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::engine {

struct Counters {
  std::atomic<std::uint64_t> verified{0}, tuned{0}, upgrades{0}, offered{0}, rolled_back{0}, prepared{0}, trials{0},
      quarantined{0}, queued{0}, running{0}, dropped{0}, failed{0}, skipped_records{0};
  std::atomic<bool> store_degraded{false};
};

inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace hone::engine
