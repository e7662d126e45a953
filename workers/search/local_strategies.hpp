// Strategies that walk from one configuration to a neighbouring one.
#pragma once

#include <optional>
#include <vector>

#include "workers/search/numbered_strategy.hpp"

namespace hone::workers {

// Greedy iterated local search: moves to the first better neighbour; where none is left, it restarts from the best
// configuration with some parameters changed at random. Lourenco, Martin and Stutzle, "Iterated local search", 2003.
class GreedyStrategy final : public NumberedStrategy {
 public:
  using NumberedStrategy::NumberedStrategy;

 protected:
  std::optional<PointId> choose(StepRandom& random) override;
  void learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) override;

 private:
  // A fresh neighbour of the point, at most `reach` places away.
  std::optional<PointId> fresh_neighbour(PointId id, StepRandom& random);

  std::optional<PointId> current_;
  double current_time_ = 0;
  std::optional<PointId> best_;
  double best_time_ = 0;
};

// Simulated annealing over neighbours, with acceptance by the relative loss and a temperature that falls
// geometrically with the evaluations. Kirkpatrick, Gelatt and Vecchi, Science 220, 1983.
class AnnealingStrategy final : public NumberedStrategy {
 public:
  using NumberedStrategy::NumberedStrategy;

 protected:
  std::optional<PointId> choose(StepRandom& random) override;
  void learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) override;

 private:
  std::optional<PointId> current_;
  double current_time_ = 0;
  std::size_t learned_ = 0;
};

}  // namespace hone::workers
