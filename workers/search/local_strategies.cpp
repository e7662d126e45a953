#include "workers/search/local_strategies.hpp"

#include <cmath>

namespace hone::workers {
namespace {

// Neighbours of a parameter with many values are looked for this many places away.
constexpr std::uint32_t reach = 3;

// One of the fresh ones, each with the same chance.
std::optional<PointId> pick_fresh(const std::vector<PointId>& ids, const auto& fresh, StepRandom& random) {
  std::optional<PointId> picked;
  std::uint64_t seen = 0;
  for (const PointId id : ids) {
    if (fresh(id) && random.below(++seen) == 0) picked = id;
  }
  return picked;
}

// The point with `changes` parameters set to a random value each; nothing when it is outside the space.
std::optional<PointId> perturbed(Points& points, PointId id, std::size_t changes, StepRandom& random) {
  const auto own = points.places(id);
  std::vector<std::uint32_t> places(own.begin(), own.end());
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t parameter = random.below(places.size());
    places[parameter] = static_cast<std::uint32_t>(random.below(points.radix()[parameter]));
  }
  return points.find(places);
}

}  // namespace

std::optional<PointId> GreedyStrategy::fresh_neighbour(PointId id, StepRandom& random) {
  return pick_fresh(
      points().neighbours(id, reach), [&](PointId other) { return fresh(other); }, random);
}

std::optional<PointId> GreedyStrategy::choose(StepRandom& random) {
  if (!current_ || explores()) return std::nullopt;
  if (const auto next = fresh_neighbour(*current_, random)) return next;
  if (points().dimensions() == 0) return std::nullopt;
  constexpr int attempts = 32;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto start = perturbed(points(), *best_, 2 + static_cast<std::size_t>(attempt) / 8, random);
    if (start && fresh(*start)) return start;
  }
  return std::nullopt;
}

void GreedyStrategy::learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) {
  if (!nanoseconds) return;
  if (!best_ || *nanoseconds < best_time_) {
    best_ = id;
    best_time_ = *nanoseconds;
  }
  // A better point is moved to; so is any point once the present one has no fresh neighbour left: that is the restart.
  if (!current_ || *nanoseconds < current_time_ || !fresh_neighbour(*current_, random)) {
    current_ = id;
    current_time_ = *nanoseconds;
  }
}

std::optional<PointId> AnnealingStrategy::choose(StepRandom& random) {
  if (!current_) return std::nullopt;
  return pick_fresh(
      points().neighbours(*current_, reach), [&](PointId other) { return fresh(other); }, random);
}

void AnnealingStrategy::learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) {
  constexpr double start = 0.5;  // a point e times slower is accepted with probability exp(-2)
  constexpr double cooling = 0.98;
  const double temperature = start * std::pow(cooling, static_cast<double>(learned_++));
  if (!nanoseconds) return;
  const double loss = current_ ? std::log(*nanoseconds / current_time_) : 0;
  // Where the present point has no fresh neighbour left the walk goes on from wherever it was sent.
  const bool stuck =
      current_ && !pick_fresh(
                      points().neighbours(*current_, reach), [&](PointId other) { return fresh(other); }, random);
  if (!current_ || loss <= 0 || stuck || random.uniform() < std::exp(-loss / temperature)) {
    current_ = id;
    current_time_ = *nanoseconds;
  }
}

}  // namespace hone::workers
