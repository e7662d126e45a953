// What production tells of one solution's times: medians of windows, without locks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

namespace hone::engine {

// A histogram with buckets of equal ratio (4.4 %) around the first observation, cleared after every window. Any number
// of threads may add at the same time: counts are relaxed atomics, and what is added while another thread closes the
// window may fall into either window or be lost, which a median of many does not notice. Neither locks nor allocates.
class ObservedTimes {
 public:
  static constexpr std::uint32_t window = 64;  // observations
  // Two medians that differ by less, relative, may be of equal times: each is rounded to a bucket.
  static constexpr double resolution = 0.045;

  // What a window told when it was complete.
  struct Window {
    double median = 0;  // ns
    double drift = 1;   // its median over the median of the first window
  };

  // Adds a positive time; the window when this completes it, else nothing.
  std::optional<Window> add(std::chrono::nanoseconds observed) noexcept {
    const auto time = static_cast<double>(observed.count());
    double anchor = anchor_.load(std::memory_order_relaxed);
    if (anchor == 0 && anchor_.compare_exchange_strong(anchor, time, std::memory_order_relaxed)) anchor = time;
    const double position = std::round(steps_per_octave * std::log2(time / anchor)) + middle;
    const auto bucket = static_cast<std::size_t>(std::clamp(position, 0.0, static_cast<double>(buckets - 1)));
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    if ((added_.fetch_add(1, std::memory_order_relaxed) + 1) % window != 0) return std::nullopt;
    const double last = last_.load(std::memory_order_relaxed);
    const double median = close_window(last > 0 ? last / anchor : 1);
    double first = 0;
    const Window told{.median = median * anchor, .drift = 1};
    last_.store(told.median, std::memory_order_relaxed);
    if (first_.compare_exchange_strong(first, median, std::memory_order_relaxed)) return told;
    return Window{told.median, median / first};
  }

  // The median of the last complete window, ns; 0 before there was one.
  double median() const noexcept { return last_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t buckets = 128;  // a factor of 16 up and down
  static constexpr double steps_per_octave = 16;
  static constexpr double middle = 64;

  // The median over the anchor; `otherwise` when another thread, which closed its window late, took all there was.
  double close_window(double otherwise) noexcept {
    std::array<std::uint32_t, buckets> counts{};
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
      counts[i] = counts_[i].exchange(0, std::memory_order_relaxed);
      sum += counts[i];
    }
    if (sum == 0) return otherwise;
    std::uint32_t below = 0;
    std::size_t bucket = 0;
    while (bucket + 1 < buckets && 2 * (below + counts[bucket]) < sum) below += counts[bucket++];
    return std::exp2((static_cast<double>(bucket) - middle) / steps_per_octave);
  }

  std::atomic<double> anchor_{0};
  std::atomic<double> first_{0};
  std::atomic<double> last_{0};
  std::atomic<std::uint32_t> added_{0};
  std::array<std::atomic<std::uint16_t>, buckets> counts_{};
};

}  // namespace hone::engine
