// Strategies that do not look at outcomes.
#pragma once

#include "workers/search/numbered_strategy.hpp"

namespace hone::workers {

// Every configuration in lexicographic order.
class ExhaustiveStrategy final : public NumberedStrategy {
 public:
  static constexpr std::size_t max_points = std::size_t{1} << 20;

  // Throws Error(invalid_option) on a space of more than max_points.
  ExhaustiveStrategy(const SearchSpace& space, StrategyOptions options);

 protected:
  std::optional<PointId> choose(StepRandom& random) override;
  void learn(PointId, std::optional<double>, StepRandom&) override {}

 private:
  PointId next_ = 0;  // all before it were tried
};

// Uniformly, without replacement.
class RandomStrategy final : public NumberedStrategy {
 public:
  using NumberedStrategy::NumberedStrategy;

 protected:
  std::optional<PointId> choose(StepRandom&) override { return std::nullopt; }
  void learn(PointId, std::optional<double>, StepRandom&) override {}
};

}  // namespace hone::workers
