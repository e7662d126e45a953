#include "workers/device_load.hpp"

#include <algorithm>
#include <span>

namespace hone::workers {
namespace {

// Medians of an idle device lie within this factor of each other.
constexpr double cluster_width = 1.06;
// The device is idle in at least one of so many jobs.
constexpr std::size_t least_share = 3;
// Fewer may all lie in one boost.
constexpr std::size_t least_jobs = 8;
constexpr std::size_t mature_from = 30;

// Beyond these a correction is a guess: kernels differ in how much a load slows them.
constexpr double most_slowdown = 4;
constexpr double most_spread = 0.25;  // of the middle half of the samples, relative to their median

}  // namespace

void IdleTime::observe(double nanoseconds) {
  if (!(nanoseconds > 0)) return;
  const std::lock_guard lock(mutex_);
  observed_.push_back(nanoseconds);
  if (observed_.size() > window) observed_.pop_front();
}

double IdleTime::estimate() const {
  std::vector<double> sorted;
  {
    const std::lock_guard lock(mutex_);
    sorted.assign(observed_.begin(), observed_.end());
  }
  if (sorted.empty()) return 0;
  const double first = sorted.front();  // the oldest
  std::sort(sorted.begin(), sorted.end());
  const std::size_t needed = std::max(sorted.size() / least_share, std::min(sorted.size(), least_jobs));
  std::span<const double> largest;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto end = std::upper_bound(sorted.begin(), sorted.end(), sorted[i] * cluster_width);
    const std::span<const double> cluster(sorted.begin() + static_cast<std::ptrdiff_t>(i), end);
    if (cluster.size() >= needed) return cluster[cluster.size() / 2];
    // Of a few observations that all differ the oldest is as good as any, and does not change from job to job.
    const bool has_first = cluster.front() <= first && first <= cluster.back();
    if (cluster.size() > largest.size() || (cluster.size() == largest.size() && has_first)) largest = cluster;
  }
  return largest[largest.size() / 2];
}

bool IdleTime::mature() const {
  const std::lock_guard lock(mutex_);
  return observed_.size() >= mature_from;
}

LoadProbe::LoadProbe(Device& device, IdleTime& idle)
    : idle_(idle), idle_estimate_(idle.estimate()), mature_(idle.mature()) {
  reference_.candidate.solver = "reference kernel";
  reference_.invoker =
      make_invoker([&device](Stream& stream, const Arguments&) { return device.run_reference(stream); });
}

void LoadProbe::start(Sampler& sampler) {
  reference_.samples.clear();
  corrected_.clear();
  if (usable_ && sampler.warm_up(reference_)) usable_ = false;
}

void LoadProbe::sample(Sampler& sampler) {
  if (usable_ && sampler.sample(reference_)) usable_ = false;
}

void LoadProbe::pair(double incumbent) {
  if (corrects()) corrected_.push_back(incumbent * idle_estimate_ / reference_.samples.back());
}

Load LoadProbe::conclude() {
  Load load;
  if (!usable_ || reference_.samples.empty()) return load;
  std::vector<double> sorted = reference_.samples;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[sorted.size() / 2];
  load.steady = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4] <= most_spread * median;
  if (idle_estimate_ > 0) {
    load.slowdown = median / idle_estimate_;
    load.steady = load.steady && load.slowdown <= most_slowdown;
    load.corrected = timing_of(corrected_);
    load.trusted = mature_;
  }
  if (load.steady) idle_.observe(median);
  return load;
}

}  // namespace hone::workers
