// A Gaussian process over the points of a search space, conditioned one observation at a time.
//
// Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: prediction (2.23, 2.24) with a constant mean
// by generalised least squares (2.41), lengths by marginal likelihood (5.8). The covariance is a product of Matern-5/2
// functions (4.17), one for each feature of each parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workers/search/step_random.hpp"

namespace hone::workers {

// Something about a parameter's value that the target may follow: a coordinate for each of its places.
struct Feature {
  std::vector<double> coordinates;
  double length = 1;         // how far the target is expected to stay alike
  bool categorical = false;  // any two different coordinates are at distance 1
};

// A parameter's features; none for a parameter that the target does not depend on.
using Axis = std::vector<Feature>;

// Predicts at a fixed number of columns: the candidates that matter now. An observation costs
// O(columns * observations), a new column O(observations^2). One thread at a time.
class GaussianProcess {
 public:
  // One axis for each parameter.
  GaussianProcess(std::vector<Axis> axes, std::size_t columns);

  std::size_t observations() const noexcept { return targets_.size(); }
  // Conditions on the target at a point, given by its places.
  void observe(std::span<const std::uint32_t> places, double target);
  // Changes what was observed before; in force after the next fit().
  void set_target(std::size_t observation, double target) { targets_[observation] = target; }

  // Puts points into columns, all at once: columns[i] gets the point whose places begin at i * axes in `places`.
  void place(std::span<const std::size_t> columns, std::span<const std::uint32_t> places);

  // Chooses lengths and noise anew, and conditions on all observations again.
  void fit(StepRandom& random);

  // Of the target without noise. Meaningless before the first observation.
  double mean(std::size_t column) const noexcept {
    return level_ + double{columns_.target[column]} - level_ * double{columns_.one[column]};
  }
  double deviation(std::size_t column) const noexcept;

 private:
  // A covariance for each pair of places of an axis or of a group.
  struct Table {
    std::size_t places = 0;
    std::vector<float> values;
    const float* row(std::size_t place) const noexcept { return values.data() + place * places; }
  };
  // Axes with so few places that their combinations are places of one table: fewer look-ups for a covariance.
  struct Group {
    std::vector<std::size_t> axes;
    Table table;
  };
  // Points that are predicted at.
  struct Columns {
    Columns(std::size_t groups, std::size_t columns)
        : places(groups, std::vector<std::uint16_t>(columns)), target(columns), one(columns), variance(columns, 1) {}
    void forget();

    std::vector<std::vector<std::uint16_t>> places;  // of each group and column
    std::vector<std::vector<float>> solved;          // of each observation and column: the solved covariance
    // Of each column: products of its solved covariance with the solved targets and ones, and the variance that is
    // left.
    std::vector<float> target;
    std::vector<float> one;
    std::vector<float> variance;
  };

  void make_groups();
  void fill_table(std::size_t axis);
  void fill_group(Group& group);
  std::uint16_t place_in(const Group& group, std::span<const std::uint32_t> places) const;
  void extend_factor(std::size_t observation);
  void condition(Columns& columns, std::size_t observation) const;
  void update_level();
  // The logarithm of the posterior density of lengths and noise, up to a constant, from some of the observations.
  double log_density(std::span<const std::size_t> sample);
  void choose_lengths(StepRandom& random);

  std::vector<std::size_t> parameter_;            // of each axis
  std::vector<Axis> axes_;                        // of the parameters that matter
  std::vector<std::vector<double>> log_lengths_;  // of each axis and feature
  double log_noise_;
  std::vector<Table> tables_;  // of each axis
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  // each axis

  Columns columns_;
  std::vector<std::vector<std::uint16_t>> observation_places_;  // of each group and observation
  std::vector<double> targets_;

  // Of each observation: its row of the Cholesky factor, and the solutions for the targets and for ones.
  std::vector<std::vector<float>> factor_;
  std::vector<double> solved_target_;
  std::vector<double> solved_one_;
  double level_ = 0;
  double scale_ = 1;
};

}  // namespace hone::workers
