// What trials of the same space from elsewhere let expect here.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/search/points.hpp"
#include "workers/search/strategy.hpp"

namespace hone::workers {

// Expects of a point what was measured of it there, and of one that was not tried the mean of its nearest trials. One
// thread at a time.
class Prior {
 public:
  using Distance = std::function<double(PointId, PointId)>;

  // Trials outside the space are left out. Failures count as the slowest.
  Prior(std::span<const PriorTrial> trials, Points& points, Distance distance);

  bool empty() const noexcept { return trials_.empty(); }
  // Logarithm of the expected time over the fastest one there; 0 of an empty one.
  double at(PointId id) const;
  // The points that were tried, fastest first; failures last.
  std::span<const PointId> ranking() const noexcept { return ranking_; }

 private:
  Distance distance_;
  std::vector<std::pair<PointId, double>> trials_;  // those that neighbours are looked for in
  std::vector<PointId> ranking_;
  mutable std::unordered_map<PointId, double> expected_;
};

}  // namespace hone::workers
