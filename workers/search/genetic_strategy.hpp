// A genetic search.
#pragma once

#include <vector>

#include "workers/search/numbered_strategy.hpp"

namespace hone::workers {

// Steady state: the fastest configurations so far are the population; a child takes each parameter from one of two
// parents that won a tournament, and mutates. Whitley, "The GENITOR algorithm", 1989; Syswerda, "Uniform crossover",
// 1989.
class GeneticStrategy final : public NumberedStrategy {
 public:
  using NumberedStrategy::NumberedStrategy;

 protected:
  std::optional<PointId> choose(StepRandom& random) override;
  void learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) override;

 private:
  struct Individual {
    PointId id = 0;
    double time = 0;
  };
  PointId tournament(StepRandom& random) const;
  std::vector<std::uint32_t> child(StepRandom& random);

  static constexpr std::size_t population_size = 20;
  std::vector<Individual> population_;  // fastest first
};

}  // namespace hone::workers
