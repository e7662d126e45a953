#include "workers/search/genetic_strategy.hpp"

#include <algorithm>

namespace hone::workers {

PointId GeneticStrategy::tournament(StepRandom& random) const {
  const std::uint64_t a = random.below(population_.size());
  const std::uint64_t b = random.below(population_.size());
  return population_[std::min(a, b)].id;
}

std::vector<std::uint32_t> GeneticStrategy::child(StepRandom& random) {
  const auto mother = points().places(tournament(random));
  const auto father = points().places(tournament(random));
  std::vector<std::uint32_t> places(mother.begin(), mother.end());
  const double mutation = 1.0 / static_cast<double>(std::max<std::size_t>(places.size(), 1));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (random.uniform() < 0.5) places[i] = father[i];
    if (random.uniform() < mutation) places[i] = static_cast<std::uint32_t>(random.below(points().radix()[i]));
  }
  return places;
}

std::optional<PointId> GeneticStrategy::choose(StepRandom& random) {
  if (population_.size() < population_size || explores()) return std::nullopt;
  constexpr int attempts = 64;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto id = points().find(child(random));
    if (id && fresh(*id)) return id;
  }
  return std::nullopt;
}

void GeneticStrategy::learn(PointId id, std::optional<double> nanoseconds, StepRandom&) {
  std::erase_if(population_, [&](const Individual& individual) { return individual.id == id; });
  if (!nanoseconds) return;
  const auto place = std::upper_bound(population_.begin(), population_.end(), *nanoseconds,
                                      [](double time, const Individual& individual) { return time < individual.time; });
  population_.insert(place, {id, *nanoseconds});
  if (population_.size() > population_size) population_.pop_back();
}

}  // namespace hone::workers
