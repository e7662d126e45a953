#include "workers/search/surrogate_strategy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace hone::workers {
namespace {

// Chosen on the recorded spaces of three convolution kernels; those of the other kernels took no part. Neighbouring
// settings differ by less than the noise of 24 searches a space.
constexpr std::size_t pool_size = 512;
constexpr std::size_t spread_trials = 10;  // before the model is asked
constexpr int spread_draws = 16;           // of which the farthest from the trials is taken
// How firmly trials from elsewhere are believed in at first, as a sum of squares of their logarithms.
constexpr double prior_weight = 3;
constexpr double expected_length = 0.5;
constexpr double expected_power_length = 1;
// Lengths are chosen anew each time the trials have grown by this factor, as long as that is cheap.
constexpr double fit_growth = 1.5;
constexpr std::size_t last_fit = 100;
// Logarithm of the gain that counts as an improvement.
constexpr double smallest_gain = 0.02;
// The pool is renewed around every new best configuration, and around the fastest ones every few trials.
constexpr int mutants_of_the_best = 48;
constexpr std::size_t elite = 4;
constexpr std::size_t renewal_period = 4;
constexpr int renewal_size = 16;

// Where values lie between 0 and 1. Positive ones by their logarithm, since parameters of kernels act by their ratios.
Feature magnitude(const Parameter& parameter) {
  const auto [least, greatest] = std::minmax_element(parameter.values.begin(), parameter.values.end());
  const bool logarithmic = *least > 0 && parameter.values.size() > 2;
  const auto scale = [&](std::int64_t value) {
    return logarithmic ? std::log2(static_cast<double>(value)) : static_cast<double>(value);
  };
  Feature feature;
  feature.length = expected_length;
  for (const std::int64_t value : parameter.values) {
    feature.coordinates.push_back((scale(value) - scale(*least)) / (scale(*greatest) - scale(*least)));
  }
  return feature;
}

// Hardware and compilers treat powers of two differently.
Feature power_of_two(const Parameter& parameter) {
  Feature feature;
  feature.length = expected_power_length;
  for (const std::int64_t value : parameter.values) {
    feature.coordinates.push_back(std::has_single_bit(static_cast<std::uint64_t>(value)) ? 1 : 0);
  }
  return feature;
}

std::vector<Axis> make_axes(const SearchSpace& space) {
  std::vector<Axis> axes;
  for (const Parameter& parameter : space.parameters()) {
    Axis& axis = axes.emplace_back();
    if (parameter.values.size() < 2) continue;
    axis.push_back(magnitude(parameter));
    axis.back().categorical = !parameter.labels.empty();
    if (!parameter.labels.empty() || parameter.values.size() == 2) continue;
    Feature powers = power_of_two(parameter);
    const auto ones = std::accumulate(powers.coordinates.begin(), powers.coordinates.end(), 0.0);
    if (ones > 0 && ones < static_cast<double>(powers.coordinates.size())) axis.push_back(std::move(powers));
  }
  return axes;
}

// u Phi(u) + phi(u), the expected improvement in units of the deviation, by linear interpolation.
class ImprovementTable {
 public:
  ImprovementTable() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double u = static_cast<double>(i) / per_unit - limit;
      values_[i] = 0.5 * u * std::erfc(-u / std::sqrt(2.0)) + std::exp(-0.5 * u * u) / std::sqrt(8 * std::atan(1.0));
    }
  }
  double operator()(double u) const noexcept {
    if (u >= limit) return u;
    // Beyond the table all that matters is that less is less.
    if (u <= -limit) return values_[0] * limit * limit / (u * u);
    const double place = (u + limit) * per_unit;
    const auto index = static_cast<std::size_t>(place);
    const double share = place - static_cast<double>(index);
    return values_[index] * (1 - share) + values_[index + 1] * share;
  }

 private:
  static constexpr double limit = 6;
  static constexpr double per_unit = 32;
  std::array<double, static_cast<std::size_t>(2 * limit * per_unit) + 2> values_{};
};

}  // namespace

SurrogateStrategy::SurrogateStrategy(const SearchSpace& space, StrategyOptions options)
    : NumberedStrategy(space, std::move(options)),
      axes_(make_axes(space)),
      prior_(this->options().prior, points(), [this](PointId a, PointId b) { return distance(a, b); }),
      spread_count_(spread_trials),
      next_fit_(spread_trials) {
  // Given configurations may all lie in one bad corner: some are spread in any case, except where trials from elsewhere
  // tell of the whole space.
  const std::size_t given = this->options().first.size();
  if (given > 0) spread_count_ = std::max(spread_trials, given + spread_trials / 2);
  if (!prior_.empty()) spread_count_ = given;
}

double SurrogateStrategy::distance(PointId a, PointId b) const {
  const auto one = points().places(a);
  const auto other = points().places(b);
  double sum = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].empty()) continue;
    const Feature& feature = axes_[i].front();
    const double d = std::abs(feature.coordinates[one[i]] - feature.coordinates[other[i]]);
    sum += feature.categorical && d > 0 ? 1 : d;
  }
  return sum;
}

std::optional<PointId> SurrogateStrategy::spread_out(StepRandom& random) {
  std::optional<PointId> farthest;
  double most = -1;
  for (int i = 0; i < spread_draws; ++i) {
    const auto id = draw_fresh(random);
    if (!id) break;
    double nearest = HUGE_VAL;
    for (const Trial& trial : trials_) nearest = std::min(nearest, distance(*id, trial.id));
    if (nearest > most) {
      most = nearest;
      farthest = id;
    }
  }
  return farthest;
}

std::optional<PointId> SurrogateStrategy::mutate(PointId id, StepRandom& random) {
  const auto own = points().places(id);
  std::vector<std::uint32_t> places(own.begin(), own.end());
  const std::uint64_t changes = 2 + random.below(2);
  for (std::uint64_t change = 0; change < changes; ++change) {
    // Parameters with one value are passed over; the pool is never mutated where all are such.
    std::size_t parameter = random.below(places.size());
    while (points().radix()[parameter] < 2) parameter = (parameter + 1) % places.size();
    const std::uint32_t radix = points().radix()[parameter];
    const auto step = static_cast<std::uint32_t>(1 + random.below(2));
    const bool up = random.below(2) == 0;
    std::uint32_t& place = places[parameter];
    if (radix == 2) {
      place ^= 1u;
    } else if (up) {
      place = std::min(radix - 1, place + step);
    } else {
      place -= std::min(place, step);
    }
  }
  return points().find(places);
}

void SurrogateStrategy::make_pool(StepRandom& random) {
  const std::size_t size = points().complete() ? std::min(pool_size, points().size()) : pool_size;
  std::vector<PointId> all(size);
  if (size == points().size() && points().complete()) {
    std::iota(all.begin(), all.end(), PointId{0});
  } else {
    for (PointId& id : all) id = points().sample(random).value();
  }
  if (size < points().size() || !points().complete()) {
    const auto best = prior_.ranking();
    std::copy_n(best.begin(), std::min(best.size(), size / 2), all.begin());
  }
  model_.emplace(axes_, size);
  pool_.assign(size, 0);
  expected_.assign(size, 0);
  std::vector<std::size_t> columns(size);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  std::vector<std::uint32_t> places;
  for (const std::size_t column : columns) {
    pool_[column] = all[column];
    expected_[column] = prior_.at(all[column]);
    column_of_[all[column]] = column;
    const auto point = points().places(all[column]);
    places.insert(places.end(), point.begin(), point.end());
  }
  model_->place(columns, places);
}

void SurrogateStrategy::renew_pool(const std::vector<PointId>& newcomers) {
  std::vector<PointId> incoming;
  for (const PointId id : newcomers) {
    if (incoming.size() == pool_.size() / 2) break;
    if (!fresh(id) || column_of_.contains(id)) continue;
    column_of_.emplace(id, 0);  // once only; its column follows
    incoming.push_back(id);
  }
  if (incoming.empty()) return;
  std::vector<std::pair<double, std::size_t>> promise(pool_.size());
  for (std::size_t column = 0; column < pool_.size(); ++column) {
    const double lowest = model_->mean(column) + trust_ * expected_[column] - model_->deviation(column);
    promise[column] = {fresh(pool_[column]) ? -lowest : -HUGE_VAL, column};
  }
  const auto end = promise.begin() + static_cast<std::ptrdiff_t>(incoming.size());
  std::nth_element(promise.begin(), end, promise.end());
  std::vector<std::size_t> columns;
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < incoming.size(); ++i) {
    const std::size_t column = promise[i].second;
    // A point drawn twice has two columns: only the one that is known by its number is forgotten.
    const auto known = column_of_.find(pool_[column]);
    if (known != column_of_.end() && known->second == column) column_of_.erase(known);
    pool_[column] = incoming[i];
    expected_[column] = prior_.at(incoming[i]);
    column_of_[incoming[i]] = column;
    columns.push_back(column);
    const auto point = points().places(incoming[i]);
    places.insert(places.end(), point.begin(), point.end());
  }
  model_->place(columns, places);
}

double SurrogateStrategy::failure_target() const noexcept {
  return ranking_.empty() ? 0 : *trials_[ranking_.back()].log_time;
}

void SurrogateStrategy::record(PointId id, std::optional<double> log_time) {
  const auto [place, added] = trial_of_.emplace(id, trials_.size());
  const std::size_t trial = place->second;
  if (added) {
    trials_.push_back({id, log_time});
  } else {
    trials_[trial].log_time = log_time;
    std::erase(ranking_, trial);
  }
  if (log_time) {
    const auto faster = [&](double time, std::size_t other) { return time < *trials_[other].log_time; };
    ranking_.insert(std::upper_bound(ranking_.begin(), ranking_.end(), *log_time, faster), trial);
  }
  const double learned = target(trials_[trial]);
  if (added) {
    model_->observe(points().places(id), learned);
  } else {
    model_->set_target(trial, learned);
  }
}

double SurrogateStrategy::target(const Trial& trial) const {
  return trial.log_time.value_or(failure_target()) - trust_ * prior_.at(trial.id);
}

void SurrogateStrategy::fit_trust() {
  if (!prior_.empty()) {
    double mean_time = 0, mean_expected = 0;
    const auto share = 1 / static_cast<double>(trials_.size());
    for (const Trial& trial : trials_) {
      mean_time += share * trial.log_time.value_or(failure_target());
      mean_expected += share * prior_.at(trial.id);
    }
    double together = prior_weight, square = prior_weight;
    for (const Trial& trial : trials_) {
      const double expected = prior_.at(trial.id) - mean_expected;
      together += expected * (trial.log_time.value_or(failure_target()) - mean_time);
      square += expected * expected;
    }
    trust_ = std::clamp(together / square, 0.0, 1.0);
  }
  for (std::size_t i = 0; i < trials_.size(); ++i) model_->set_target(i, target(trials_[i]));
}

void SurrogateStrategy::learn(PointId id, std::optional<double> nanoseconds, StepRandom& random) {
  if (!model_) make_pool(random);
  record(id, nanoseconds ? std::optional(std::log(*nanoseconds)) : std::nullopt);
  if (trials_.size() >= next_fit_ && trials_.size() <= last_fit) {
    next_fit_ = static_cast<std::size_t>(static_cast<double>(trials_.size()) * fit_growth);
    fit_trust();
    model_->fit(random);
  }
  const bool whole_space = points().complete() && pool_.size() == points().size();
  if (whole_space || ranking_.empty()) return;
  std::vector<PointId> newcomers;
  if (trials_[ranking_.front()].id == id) {
    newcomers = points().neighbours(id, 1);
    for (int i = 0; i < mutants_of_the_best; ++i) {
      if (const auto mutant = mutate(id, random)) newcomers.push_back(*mutant);
    }
  }
  if (trials_.size() % renewal_period == 0) {
    for (int i = 0; i < renewal_size; ++i) {
      const std::size_t rank = random.below(std::min(elite, ranking_.size()));
      const auto newcomer = i % 2 == 0 ? points().sample(random) : mutate(trials_[ranking_[rank]].id, random);
      if (newcomer) newcomers.push_back(*newcomer);
    }
  }
  renew_pool(newcomers);
}

std::optional<PointId> SurrogateStrategy::choose(StepRandom& random) {
  if (!prior_.empty() && ranking_.size() < 2) {
    const auto best = std::ranges::find_if(prior_.ranking(), [this](PointId id) { return fresh(id); });
    if (best != prior_.ranking().end()) return *best;
  }
  if (trials_.size() < spread_count_ || ranking_.size() < 2) return spread_out(random);
  if (explores()) return std::nullopt;
  static const ImprovementTable improvement;
  const double goal = *trials_[ranking_.front()].log_time - smallest_gain;
  std::optional<PointId> best;
  double most = -1;
  for (std::size_t column = 0; column < pool_.size(); ++column) {
    if (!fresh(pool_[column])) continue;
    const double deviation = model_->deviation(column);
    const double mean = model_->mean(column) + trust_ * expected_[column];
    const double expected = deviation * improvement((goal - mean) / deviation);
    if (expected > most) {
      most = expected;
      best = pool_[column];
    }
  }
  return best;
}

}  // namespace hone::workers
