// Times of requests, and what is said of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace hone::demo {

using Duration = std::chrono::duration<double>;

// The smallest value that at least `share` of the values do not exceed; zero when there are none.
inline Duration percentile(std::vector<Duration> values, double share) {
  if (values.empty()) return Duration(0);
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const std::size_t place = std::min(values.size() - 1, static_cast<std::size_t>(std::max(rank, 1.0)) - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

inline Duration median(std::vector<Duration> values) { return percentile(std::move(values), 0.5); }

inline Duration total(const std::vector<Duration>& values) {
  Duration sum(0);
  for (const Duration value : values) sum += value;
  return sum;
}

}  // namespace hone::demo
