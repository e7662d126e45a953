// Surrogate-guided search, the default.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "workers/search/gaussian_process.hpp"
#include "workers/search/numbered_strategy.hpp"
#include "workers/search/prior.hpp"

namespace hone::workers {

// Bayesian optimisation over a pool of candidates. The first configurations are spread over the space; then a Gaussian
// process learns the logarithm of the time, and the candidate with the largest expected improvement is next (Jones,
// Schonlau and Welch, "Efficient global optimization", 1998). The pool holds points drawn uniformly and points near the
// fastest ones, and is renewed as the search goes on, so that cost and memory depend on its size and not on the
// space's. A failure counts as the slowest time seen. Every step at which explores() is true draws at random.
//
// With trials from elsewhere the process learns what they do not explain: the difference to a multiple of what they let
// expect. The multiple is fitted to the trials here (least squares drawn towards 1), so that a harmful prior fades.
class SurrogateStrategy final : public NumberedStrategy {
 public:
  SurrogateStrategy(const SearchSpace& space, StrategyOptions options);

 protected:
  std::optional<PointId> choose(StepRandom& random) override;
  void learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) override;

 private:
  struct Trial {
    PointId id = 0;
    std::optional<double> log_time;  // nothing when it failed
  };

  void make_pool(StepRandom& random);
  // Replaces points of the pool that were tried, or promise least, by others.
  void renew_pool(const std::vector<PointId>& newcomers);
  void record(PointId id, std::optional<double> log_time);
  double failure_target() const noexcept;
  // What the model is to learn of a trial.
  double target(const Trial& trial) const;
  // Fits the trust in the prior, and sets all targets anew.
  void fit_trust();
  // A fresh point far from what was tried.
  std::optional<PointId> spread_out(StepRandom& random);
  // A point that differs from the given one in two or three parameters, or nothing.
  std::optional<PointId> mutate(PointId id, StepRandom& random);
  double distance(PointId a, PointId b) const;

  std::vector<Axis> axes_;
  Prior prior_;
  double trust_ = 1;          // the multiple of the prior that is expected
  std::size_t spread_count_;  // trials before the model is asked
  std::size_t next_fit_;
  std::vector<Trial> trials_;  // one for each observation of the model
  std::unordered_map<PointId, std::size_t> trial_of_;
  std::vector<std::size_t> ranking_;  // trials that ran, fastest first
  std::vector<PointId> pool_;         // by column of the model
  std::vector<double> expected_;      // likewise: what the prior lets expect
  std::unordered_map<PointId, std::size_t> column_of_;
  std::optional<GaussianProcess> model_;
};

}  // namespace hone::workers
