// Medians and their confidence intervals without assumptions about the distribution.
#pragma once

#include <cstddef>
#include <span>

namespace hone::workers {

// Of the median, between two order statistics.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  // The confidence that the interval has: at least what was asked for, or less where there are too few samples for it;
  // low and high are then the least and the greatest sample. 0 without samples.
  double confidence = 0;
};

// The narrowest interval of symmetric ranks that covers the median of the distribution with at least `confidence`,
// which is in (0, 1): the number of samples below the median is binomial with p = 1/2 (David and Nagaraja, Order
// Statistics, 3rd edition, section 7.1). Samples in any order, at most 16,000.
MedianInterval median_interval(std::span<const double> samples, double confidence);

// The number of samples that an interval of this confidence needs at least.
std::size_t samples_for(double confidence);

enum class Side { below, above, unclear };

// On which side of the threshold a median lies: that of its whole interval; that of the median where the interval is
// narrower than `precision` times the median, so that enough samples always decide; otherwise unclear.
Side side_of(double threshold, double median, double low, double high, double precision) noexcept;

}  // namespace hone::workers
