#include "workers/search/numbered_strategy.hpp"

#include <cmath>

namespace hone::workers {

NumberedStrategy::NumberedStrategy(const SearchSpace& space, StrategyOptions options, std::size_t limit)
    : options_(std::move(options)), points_(space, limit) {}

std::optional<Configuration> NumberedStrategy::suggest() {
  std::optional<PointId> next;
  for (const Configuration& configuration : options_.first) {
    const auto id = points_.find(configuration);
    if (id && fresh(*id)) {
      next = id;
      break;
    }
  }
  if (!next) {
    if (points_.complete() && tried_count_ == points_.size()) return std::nullopt;
    StepRandom random(options_.seed, tried_count_);
    next = choose(random);
    if (!next) next = draw_fresh(random);
  }
  if (!next) return std::nullopt;
  mark(*next);
  return points_.configuration(*next);
}

void NumberedStrategy::observe(const Configuration& configuration, std::optional<Time> time) {
  const auto id = points_.find(configuration);
  if (!id) return;
  mark(*id);
  std::optional<double> nanoseconds;
  if (time && std::isfinite(time->count()) && time->count() > 0) nanoseconds = time->count();
  StepRandom random(~options_.seed, tried_count_);
  learn(*id, nanoseconds, random);
}

void NumberedStrategy::mark(PointId id) {
  if (!fresh(id)) return;
  if (id >= tried_.size()) tried_.resize(points_.size());
  tried_[id] = true;
  ++tried_count_;
}

std::optional<PointId> NumberedStrategy::draw_fresh(StepRandom& random) {
  // Cheap while fresh points are not rare.
  constexpr int attempts = 64;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto id = points_.sample(random);
    if (!id) return std::nullopt;
    if (fresh(*id)) return id;
  }
  // One pass that keeps the n-th fresh point with probability 1/n.
  std::optional<PointId> kept;
  std::uint64_t seen = 0;
  points_.for_each([&](PointId id) {
    if (fresh(id) && random.below(++seen) == 0) kept = id;
    return true;
  });
  return kept;
}

bool NumberedStrategy::explores() const noexcept {
  const double share = options_.exploration;
  const auto step = static_cast<double>(tried_count_);
  return std::floor((step + 1) * share) > std::floor(step * share);
}

}  // namespace hone::workers
