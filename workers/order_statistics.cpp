#include "workers/order_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::workers {

MedianInterval median_interval(std::span<const double> samples, double confidence) {
  const std::size_t n = samples.size();
  if (n == 0) return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;

  // Ranks k + 1 and n - k cover the median unless k or fewer samples lie on one side of it.
  const auto total = static_cast<long double>(n);
  long double term = std::exp2(-total);  // of exactly k samples on one side
  long double tail = term;               // of at most k
  std::size_t k = 0;
  while (k + 1 < (n + 1) / 2) {
    const long double next = term * (total - static_cast<long double>(k)) / static_cast<long double>(k + 1);
    if (1 - 2 * (tail + next) < confidence) break;
    term = next;
    tail += next;
    ++k;
  }
  return {median, sorted[k], sorted[n - 1 - k], std::max(0.0, static_cast<double>(1 - 2 * tail))};
}

std::size_t samples_for(double confidence) {
  std::size_t n = 1;
  while (1 - std::exp2(1 - static_cast<double>(n)) < confidence) ++n;
  return n;
}

Side side_of(double threshold, double median, double low, double high, double precision) noexcept {
  if (high < threshold) return Side::below;
  if (low > threshold) return Side::above;
  if (!(high - low <= precision * median)) return Side::unclear;
  return median <= threshold ? Side::below : Side::above;
}

}  // namespace hone::workers
