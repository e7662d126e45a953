#include "workers/search/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::workers {
namespace {

// Observations that the choice of lengths looks at; its cost grows with their third power.
constexpr std::size_t max_sample = 40;
// The prior of the logarithms: normal, around the expected lengths and around this noise.
constexpr double expected_log_noise = -4;
constexpr double log_length_deviation = 1;
constexpr double log_noise_deviation = 2;
// Coordinate search over the logarithms.
constexpr double log_step = 0.7;
constexpr int first_passes = 2;  // while few observations tell little at once
constexpr int later_passes = 1;

// Places of a group's table, unless one axis alone has more.
constexpr std::size_t max_group_places = 32;

double matern(double distance, double length) {
  const double r = std::sqrt(5.0) * distance / length;
  return (1 + r + r * r / 3) * std::exp(-r);
}

double square(double x) { return x * x; }

// Compiled for wider registers as well and chosen when the program starts. Results are the same to the bit: each
// element is computed by itself, without fused operations.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define HONE_WIDE __attribute__((target_clones("default", "avx2")))
#else
#define HONE_WIDE
#endif

HONE_WIDE void multiply_by_table(float* row, const float* table, const std::uint16_t* places, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) row[j] *= table[places[j]];
}

// Four at a time, so that the row is read and written less often.
HONE_WIDE void subtract_four(float* row, const float* factors, const float* a, const float* b, const float* c,
                             const float* d, std::size_t count) {
  const float fa = factors[0], fb = factors[1], fc = factors[2], fd = factors[3];
  for (std::size_t j = 0; j < count; ++j) row[j] -= (fa * a[j] + fb * b[j]) + (fc * c[j] + fd * d[j]);
}

HONE_WIDE void subtract_one(float* row, float factor, const float* a, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) row[j] -= factor * a[j];
}

HONE_WIDE void accumulate(float* row, float inverse, float target, float one, float* targets, float* ones,
                          float* variances, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const float value = row[j] * inverse;
    row[j] = value;
    targets[j] += value * target;
    ones[j] += value * one;
    variances[j] -= value * value;
  }
}

float dot(const float* a, const float* b, std::size_t count) {
  float sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<Axis> axes, std::size_t columns)
    : log_noise_(expected_log_noise), columns_(0, 0) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].empty()) continue;
    parameter_.push_back(i);
    auto& lengths = log_lengths_.emplace_back();
    for (const Feature& feature : axes[i]) lengths.push_back(std::log(feature.length));
    axes_.push_back(std::move(axes[i]));
  }
  tables_.resize(axes_.size());
  make_groups();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) fill_table(axis);
  for (Group& group : groups_) fill_group(group);
  observation_places_.resize(groups_.size());
  columns_ = Columns(groups_.size(), columns);
}

// Each axis joins the first group that has room.
void GaussianProcess::make_groups() {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const std::size_t places = axes_[axis].front().coordinates.size();
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& g) { return g.table.places * places <= max_group_places; });
    if (group == groups_.end()) group = groups_.insert(group, Group{{}, {1, {}}});
    group->axes.push_back(axis);
    group->table.places *= places;
    group_of_.push_back(static_cast<std::size_t>(group - groups_.begin()));
  }
}

std::uint16_t GaussianProcess::place_in(const Group& group, std::span<const std::uint32_t> places) const {
  std::size_t place = 0;
  for (const std::size_t axis : group.axes) place = place * tables_[axis].places + places[parameter_[axis]];
  return static_cast<std::uint16_t>(place);
}

void GaussianProcess::fill_group(Group& group) {
  std::vector<float> values(1, 1);  // of the combinations of the axes so far
  std::size_t places = 1;
  for (const std::size_t axis : group.axes) {
    const Table& table = tables_[axis];
    const std::size_t wider = places * table.places;
    std::vector<float> product(wider * wider);
    for (std::size_t a = 0; a < wider; ++a) {
      const float* row = table.row(a % table.places);
      const float* before = &values[a / table.places * places];
      for (std::size_t i = 0; i < places; ++i) {
        for (std::size_t j = 0; j < table.places; ++j) product[a * wider + i * table.places + j] = before[i] * row[j];
      }
    }
    values = std::move(product);
    places = wider;
  }
  group.table.values = std::move(values);
}

void GaussianProcess::Columns::forget() {
  std::fill(target.begin(), target.end(), 0.0f);
  std::fill(one.begin(), one.end(), 0.0f);
  std::fill(variance.begin(), variance.end(), 1.0f);
}

void GaussianProcess::fill_table(std::size_t axis) {
  Table& table = tables_[axis];
  table.places = axes_[axis].front().coordinates.size();
  table.values.assign(table.places * table.places, 1);
  for (std::size_t f = 0; f < axes_[axis].size(); ++f) {
    const Feature& feature = axes_[axis][f];
    const double length = std::exp(log_lengths_[axis][f]);
    for (std::size_t a = 0; a < table.places; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        double distance = std::abs(feature.coordinates[a] - feature.coordinates[b]);
        if (feature.categorical) distance = distance > 0 ? 1 : 0;
        const auto value = static_cast<float>(matern(distance, length));
        table.values[a * table.places + b] *= value;
        table.values[b * table.places + a] *= value;
      }
    }
  }
}

// Extends the factor by the row of the observation.
void GaussianProcess::extend_factor(std::size_t observation) {
  std::vector<float> row(observation + 1, 1);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const auto& places = observation_places_[group];
    const float* table = groups_[group].table.row(places[observation]);
    for (std::size_t k = 0; k < observation; ++k) row[k] *= table[places[k]];
  }
  row[observation] += static_cast<float>(std::exp(log_noise_));
  for (std::size_t k = 0; k < observation; ++k) {
    row[k] = (row[k] - dot(row.data(), factor_[k].data(), k)) / factor_[k][k];
  }
  row[observation] = std::sqrt(std::max(row[observation] - dot(row.data(), row.data(), observation), 1e-6f));
  double target = targets_[observation];
  double one = 1;
  for (std::size_t k = 0; k < observation; ++k) {
    target -= double{row[k]} * solved_target_[k];
    one -= double{row[k]} * solved_one_[k];
  }
  solved_target_.push_back(target / double{row[observation]});
  solved_one_.push_back(one / double{row[observation]});
  factor_.push_back(std::move(row));
}

void GaussianProcess::condition(Columns& columns, std::size_t observation) const {
  const std::size_t count = columns.target.size();
  if (columns.solved.size() <= observation) columns.solved.emplace_back(count);
  float* row = columns.solved[observation].data();
  std::fill_n(row, count, 1.0f);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const float* table = groups_[group].table.row(observation_places_[group][observation]);
    multiply_by_table(row, table, columns.places[group].data(), count);
  }
  const std::vector<float>& factor = factor_[observation];
  const auto& solved = columns.solved;
  std::size_t k = 0;
  for (; k + 4 <= observation; k += 4) {
    subtract_four(row, &factor[k], solved[k].data(), solved[k + 1].data(), solved[k + 2].data(), solved[k + 3].data(),
                  count);
  }
  for (; k < observation; ++k) subtract_one(row, factor[k], solved[k].data(), count);
  accumulate(row, 1 / factor[observation], static_cast<float>(solved_target_[observation]),
             static_cast<float>(solved_one_[observation]), columns.target.data(), columns.one.data(),
             columns.variance.data(), count);
}

void GaussianProcess::update_level() {
  const auto product = [](const auto& a, const auto& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double cross = product(solved_target_, solved_one_);
  level_ = cross / product(solved_one_, solved_one_);
  const double variance =
      (product(solved_target_, solved_target_) - cross * level_) / static_cast<double>(targets_.size());
  scale_ = std::sqrt(std::max(variance, 1e-12));
}

void GaussianProcess::observe(std::span<const std::uint32_t> places, double target) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    observation_places_[group].push_back(place_in(groups_[group], places));
  }
  targets_.push_back(target);
  extend_factor(targets_.size() - 1);
  condition(columns_, targets_.size() - 1);
  update_level();
}

void GaussianProcess::place(std::span<const std::size_t> columns, std::span<const std::uint32_t> places) {
  if (columns.empty()) return;
  // Side by side, so that all are conditioned in one sweep.
  Columns newcomers(groups_.size(), columns.size());
  const std::size_t parameters = places.size() / columns.size();
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      newcomers.places[group][i] = place_in(groups_[group], places.subspan(i * parameters, parameters));
      columns_.places[group][columns[i]] = newcomers.places[group][i];
    }
  }
  for (std::size_t observation = 0; observation < targets_.size(); ++observation) {
    condition(newcomers, observation);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns_.solved[observation][columns[i]] = newcomers.solved[observation][i];
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns_.target[columns[i]] = newcomers.target[i];
    columns_.one[columns[i]] = newcomers.one[i];
    columns_.variance[columns[i]] = newcomers.variance[i];
  }
}

double GaussianProcess::log_density(std::span<const std::size_t> sample) {
  const std::size_t n = sample.size();
  std::vector<float> factor(n * n);
  std::vector<double> targets(n);
  std::vector<double> ones(n);
  double log_determinant = 0;
  const auto diagonal = static_cast<float>(1 + std::exp(log_noise_));
  for (std::size_t i = 0; i < n; ++i) {
    float* row = &factor[i * n];
    std::fill_n(row, i, 1.0f);
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const auto& places = observation_places_[group];
      const float* table = groups_[group].table.row(places[sample[i]]);
      for (std::size_t j = 0; j < i; ++j) row[j] *= table[places[sample[j]]];
    }
    double target = targets_[sample[i]];
    double one = 1;
    for (std::size_t j = 0; j < i; ++j) {
      row[j] = (row[j] - dot(row, &factor[j * n], j)) / factor[j * n + j];
      target -= double{row[j]} * targets[j];
      one -= double{row[j]} * ones[j];
    }
    row[i] = std::sqrt(std::max(diagonal - dot(row, row, i), 1e-6f));
    targets[i] = target / double{row[i]};
    ones[i] = one / double{row[i]};
    log_determinant += std::log(row[i]);
  }
  const auto product = [](const auto& a, const auto& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double variance =
      (product(targets, targets) - square(product(targets, ones)) / product(ones, ones)) / static_cast<double>(n);
  double prior = square((log_noise_ - expected_log_noise) / log_noise_deviation);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    for (std::size_t f = 0; f < axes_[axis].size(); ++f) {
      prior += square((log_lengths_[axis][f] - std::log(axes_[axis][f].length)) / log_length_deviation);
    }
  }
  return -0.5 * static_cast<double>(n) * std::log(std::max(variance, 1e-12)) - log_determinant - 0.5 * prior;
}

void GaussianProcess::choose_lengths(StepRandom& random) {
  std::vector<std::size_t> sample(targets_.size());
  std::iota(sample.begin(), sample.end(), std::size_t{0});
  if (sample.size() > max_sample) {
    // The lowest targets, where the answer lies, and others at random.
    std::stable_sort(sample.begin(), sample.end(), [&](auto a, auto b) { return targets_[a] < targets_[b]; });
    for (std::size_t i = max_sample / 3; i < max_sample; ++i) {
      std::swap(sample[i], sample[i + random.below(sample.size() - i)]);
    }
    sample.resize(max_sample);
  }
  double best = log_density(sample);
  // Moves one logarithm a step to either side if that is better.
  const auto improve = [&](double& logarithm, const auto& apply) {
    const double kept = logarithm;
    for (const double step : {log_step, -log_step}) {
      logarithm = kept + step;
      apply();
      const double density = log_density(sample);
      if (density > best) {
        best = density;
        return;
      }
    }
    logarithm = kept;
    apply();
  };
  const int passes = targets_.size() < max_sample ? first_passes : later_passes;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      for (double& logarithm : log_lengths_[axis]) {
        improve(logarithm, [&] {
          fill_table(axis);
          fill_group(groups_[group_of_[axis]]);
        });
      }
    }
    improve(log_noise_, [] {});
  }
}

void GaussianProcess::fit(StepRandom& random) {
  choose_lengths(random);
  factor_.clear();
  solved_target_.clear();
  solved_one_.clear();
  columns_.forget();
  for (std::size_t observation = 0; observation < targets_.size(); ++observation) {
    extend_factor(observation);
    condition(columns_, observation);
  }
  update_level();
}

double GaussianProcess::deviation(std::size_t column) const noexcept {
  return scale_ * std::sqrt(std::max(double{columns_.variance[column]}, 1e-9));
}

}  // namespace hone::workers
