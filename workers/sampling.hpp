// Takes times of single candidates: warm-up, batches, samples. All candidates of a worker are timed by one clock,
// Stream::time. See race.hpp for comparisons.
#pragma once

#include <chrono>
#include <hone/device.hpp>
#include <hone/solver.hpp>
#include <memory>
#include <vector>

#include "workers/failure.hpp"
#include "workers/supervisor.hpp"

namespace hone::workers {

struct SamplingOptions {
  // A sample is a batch of launches that lasts at least so long: it dwarfs the resolution of the clock.
  std::chrono::nanoseconds min_batch = std::chrono::microseconds(100);
  int max_batch = 1 << 20;
  // Warm-up ends when the last three samples lie within `steady` of each other, relative, or after max_warm_up samples.
  double steady = 0.05;
  int max_warm_up = 12;
  // Launches shorter than this are preceded by one that is not timed, since another candidate or a rest came before.
  std::chrono::nanoseconds lead_in = std::chrono::milliseconds(1);
  // Cold: every sample is one launch after the caches were flushed.
  bool cold_cache = false;
};

// One candidate that is timed.
struct Contestant {
  Candidate candidate;
  std::shared_ptr<const Invoker> invoker;
  int batch = 0;                // launches in a sample; 0: not calibrated
  double estimate = 0;          // ns of a launch, from calibration
  std::vector<double> samples;  // ns of a launch
};

// Median and 95 % interval of the samples.
Timing timing_of(const std::vector<double>& samples);

class Sampler {
 public:
  // `flush`: for cold samples a buffer that exceeds the last-level cache, else null. All must outlive the sampler.
  Sampler(Device& device, Stream& stream, Supervisor& supervisor, const Arguments& arguments, SamplingOptions options,
          Buffer flush = nullptr, std::size_t flush_bytes = 0);

  // One launch, not timed, and waits for it. Codes: whatever the invoker or the stream reports.
  Failure run(const Contestant& contestant);
  // Finds the batch, and a first estimate of the time of a launch. Errc::clock_failed when the clock runs backwards or
  // stands still.
  Failure calibrate(Contestant& contestant);
  // Runs until times are steady and forgets them.
  Failure warm_up(Contestant& contestant);
  // One sample more. Errc::clock_failed for a time that is not positive.
  Failure sample(Contestant& contestant);

  Supervisor& supervisor() noexcept { return supervisor_; }

 private:
  Failure lead_in(const Contestant& contestant);
  Failure time(const Contestant& contestant, int count, std::chrono::nanoseconds& elapsed);
  Failure measure(Contestant& contestant, double& nanoseconds);
  void flush_caches();

  Device& device_;
  Stream& stream_;
  Supervisor& supervisor_;
  Arguments arguments_;
  SamplingOptions options_;
  Buffer flush_;
  std::vector<std::byte> flush_source_;
};

}  // namespace hone::workers
