// What a job asks of the worker that runs it.
#pragma once

#include <chrono>
#include <hone/candidate.hpp>

namespace hone::workers {

// Used on the worker's thread only.
class Supervisor {
 public:
  virtual ~Supervisor() = default;
  // Called between two rounds of runs. Waits while the worker is paused, and rests for the background share. False: the
  // job is cancelled and must end now.
  virtual bool proceed() = 0;
  // Bracket every preparation and every run of a candidate, for the watchdog.
  virtual void begin(const Candidate& candidate) = 0;
  virtual void end() noexcept = 0;
  // Time worked on this job so far; waits are not counted.
  virtual std::chrono::nanoseconds busy() const = 0;
};

}  // namespace hone::workers
