// Simulated noise for verdicts: what real machines do to times, in virtual time and by seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/scripted_device.hpp"

namespace hone::test {

enum class Noise { quiet, load_steps, throttling_ramp, clock_boost, outliers, everything };
inline constexpr std::array<Noise, 6> all_noises = {Noise::quiet,       Noise::load_steps, Noise::throttling_ramp,
                                                    Noise::clock_boost, Noise::outliers,   Noise::everything};
inline constexpr std::array<std::string_view, 6> noise_names = {"quiet",       "load_steps", "throttling_ramp",
                                                                "clock_boost", "outliers",   "everything"};

// Periods of a few tens of milliseconds to seconds, each with its own factor, drawn as time goes by; the first is idle.
class Episodes {
 public:
  Episodes(std::uint64_t seed, double share, double least, double most, bool ramp)
      : random_(seed), share_(share), least_(least), most_(most), ramp_(ramp) {}

  double at(std::chrono::nanoseconds now) {
    while (now >= end_) {
      begin_ = end_;
      end_ +=
          std::chrono::nanoseconds(static_cast<std::int64_t>(std::uniform_real_distribution<>(20e6, 2000e6)(random_)));
      factor_ = begin_.count() > 0 && std::bernoulli_distribution(share_)(random_)
                    ? std::uniform_real_distribution<>(least_, most_)(random_)
                    : 1.0;
    }
    if (!ramp_) return factor_;
    const double progress = static_cast<double>((now - begin_).count()) / static_cast<double>((end_ - begin_).count());
    return 1 + (factor_ - 1) * progress;
  }

 private:
  std::mt19937_64 random_;
  double share_, least_, most_;
  bool ramp_;
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds end_{0};
  double factor_ = 1;
};

// The conditions of one simulated machine. Jitter is 2 or 3 %.
inline Conditions simulated(Noise noise, std::uint64_t seed) {
  const bool all = noise == Noise::everything;
  std::vector<std::shared_ptr<Episodes>> episodes;
  if (all || noise == Noise::load_steps) episodes.push_back(std::make_shared<Episodes>(3 * seed, 0.4, 1.2, 3.0, false));
  if (all || noise == Noise::throttling_ramp)
    episodes.push_back(std::make_shared<Episodes>(3 * seed + 1, 0.4, 1.1, 1.5, true));
  if (all || noise == Noise::clock_boost)
    episodes.push_back(std::make_shared<Episodes>(3 * seed + 2, 0.1, 0.8, 0.95, false));
  Conditions conditions;
  conditions.seed = seed;
  conditions.jitter = seed % 2 == 0 ? 0.02 : 0.03;
  if (all || noise == Noise::outliers) conditions.outlier_probability = 0.05;
  conditions.slowdown = [episodes](std::chrono::nanoseconds now) {
    double factor = 1;
    for (const auto& episode : episodes) factor *= episode->at(now);
    return factor;
  };
  return conditions;
}

}  // namespace hone::test
