#include "workers/search/prior.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hone::workers {
namespace {

// A point's neighbours are looked for among so many trials, every n-th of the ranking.
constexpr std::size_t most_neighbours = 512;
constexpr std::size_t nearest_count = 4;
// Distance at which a neighbour says half as much.
constexpr double half_distance = 0.1;

}  // namespace

Prior::Prior(std::span<const PriorTrial> trials, Points& points, Distance distance) : distance_(std::move(distance)) {
  double fastest = HUGE_VAL, slowest = -HUGE_VAL;
  std::vector<std::pair<PointId, double>> known;
  for (const PriorTrial& trial : trials) {
    const auto id = points.find(trial.configuration);
    if (!id) continue;
    const bool ran = trial.time && std::isfinite(trial.time->count()) && trial.time->count() > 0;
    known.emplace_back(*id, ran ? std::log(trial.time->count()) : HUGE_VAL);
    if (!ran) continue;
    fastest = std::min(fastest, known.back().second);
    slowest = std::max(slowest, known.back().second);
  }
  // Failures alone say nothing of times.
  if (fastest > slowest) return;
  std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (auto& [id, time] : known) {
    time = std::min(time, slowest) - fastest;
    if (expected_.emplace(id, time).second) ranking_.push_back(id);
  }
  const std::size_t step = (known.size() + most_neighbours - 1) / most_neighbours;
  for (std::size_t i = 0; i < known.size(); i += step) trials_.push_back(known[i]);
}

double Prior::at(PointId id) const {
  if (trials_.empty()) return 0;
  const auto known = expected_.find(id);
  if (known != expected_.end()) return known->second;
  std::array<std::pair<double, double>, nearest_count> nearest;
  nearest.fill({HUGE_VAL, 0});
  for (const auto& [other, time] : trials_) {
    const double far = distance_(id, other);
    if (far >= nearest.back().first) continue;
    nearest.back() = {far, time};
    for (std::size_t i = nearest_count - 1; i > 0 && nearest[i].first < nearest[i - 1].first; --i) {
      std::swap(nearest[i], nearest[i - 1]);
    }
  }
  double sum = 0, weights = 0;
  for (const auto& [far, time] : nearest) {
    if (far == HUGE_VAL) break;
    const double weight = half_distance / (half_distance + far);
    sum += weight * time;
    weights += weight;
  }
  return expected_[id] = sum / weights;
}

}  // namespace hone::workers
