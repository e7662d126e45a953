// What all strategies share: numbered points, what was tried, warm starts, and random numbers that resume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workers/search/points.hpp"
#include "workers/search/strategy.hpp"

namespace hone::workers {

// Derive, and say what to choose and what to learn.
class NumberedStrategy : public Strategy {
 public:
  NumberedStrategy(const SearchSpace& space, StrategyOptions options, std::size_t limit = Points::default_limit);

  std::optional<Configuration> suggest() final;
  void observe(const Configuration& configuration, std::optional<Time> time) final;

 protected:
  // A point that is fresh; nothing to have one drawn at random. Called only while there are fresh points. Must not
  // change what later calls choose, since a resumed search does not make this call again.
  virtual std::optional<PointId> choose(StepRandom& random) = 0;
  // An outcome, in the order of observation.
  virtual void learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) = 0;

  Points& points() noexcept { return points_; }
  const Points& points() const noexcept { return points_; }
  const StrategyOptions& options() const noexcept { return options_; }
  // Neither suggested nor observed.
  bool fresh(PointId id) const noexcept { return id >= tried_.size() || !tried_[id]; }
  std::size_t tried() const noexcept { return tried_count_; }
  // A fresh point drawn uniformly; nothing when there is none.
  std::optional<PointId> draw_fresh(StepRandom& random);
  // True for a fixed share of the steps, evenly spread.
  bool explores() const noexcept;

 private:
  void mark(PointId id);

  StrategyOptions options_;
  Points points_;
  std::vector<bool> tried_;  // by number; shorter than points_ where later ones are fresh
  std::size_t tried_count_ = 0;
};

}  // namespace hone::workers
