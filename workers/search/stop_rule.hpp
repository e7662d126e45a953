// When a search stops.
#pragma once

#include <chrono>
#include <cstdint>
#include <hone/trial.hpp>
#include <optional>

#include "workers/search/strategy.hpp"

namespace hone::workers {

// Zero and nothing: no such limit.
struct StopRule {
  std::uint64_t evaluations = 0;
  std::uint64_t patience = 0;  // evaluations without improvement
  std::chrono::nanoseconds wall_time{0};
  std::optional<Strategy::Time> target;  // good enough: a known optimum times the accepted ratio
};

// How far a search is. A value.
struct SearchProgress {
  std::uint64_t evaluations = 0;
  std::uint64_t without_improvement = 0;
  std::chrono::nanoseconds elapsed{0};
  std::optional<Strategy::Time> best;

  // One more evaluation; nothing: it failed.
  void add(std::optional<Strategy::Time> time) noexcept;
};

// Why the search stops now; none when it goes on. The target comes first: it is what the limits were meant to buy.
StopReason stop_reason(const StopRule& rule, const SearchProgress& progress) noexcept;

}  // namespace hone::workers
