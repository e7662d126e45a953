// How loaded a device is, told by a reference kernel whose idle time is learned over time.
#pragma once

#include <cstddef>
#include <deque>
#include <hone/device.hpp>
#include <mutex>
#include <vector>

#include "workers/failure.hpp"
#include "workers/job.hpp"
#include "workers/sampling.hpp"

namespace hone::workers {

// The idle time of one device's reference kernel: the fastest time that it had again and again in the last jobs, which
// is where at least a third of them agree. Load may make it slower for much of a busy day, and a clock boost faster for
// a while, but neither by the same factor each time. Shared by all workers of a device. Thread-safe.
class IdleTime {
 public:
  // The median of one job, ns. Values that are not positive are ignored.
  void observe(double nanoseconds);
  // Nanoseconds; 0 as long as nothing was observed.
  double estimate() const;
  // True when enough was observed to trust the estimate against the evidence of a single job.
  bool mature() const;

 private:
  static constexpr std::size_t window = 512;

  mutable std::mutex mutex_;
  std::deque<double> observed_;
};

// The reference kernel in a race: sampled in every round beside the incumbent, so that each of the incumbent's samples
// can be corrected by the load of its moment.
class LoadProbe {
 public:
  // `device` and `idle` must outlive the probe.
  LoadProbe(Device& device, IdleTime& idle);

  // False when the device has no reference kernel, or it failed, or its idle time is not known yet: nothing is
  // corrected.
  bool corrects() const noexcept { return usable_ && idle_estimate_ > 0; }
  // Forgets samples and warms up.
  void start(Sampler& sampler);
  // One sample, once a round.
  void sample(Sampler& sampler);
  // Takes the incumbent's sample of the round, ns.
  void pair(double incumbent);

  // The incumbent's samples as they would be on the idle device.
  const std::vector<double>& corrected() const noexcept { return corrected_; }
  // What the probe saw, and lets the idle time learn from it.
  Load conclude();

 private:
  IdleTime& idle_;
  double idle_estimate_;
  bool mature_;
  bool usable_ = true;
  Contestant reference_;
  std::vector<double> corrected_;
};

}  // namespace hone::workers
