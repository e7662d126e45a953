// What a job asks of the worker that runs it.
#pragma once

#include <chrono>
#include <cstddef>
#include <hone/candidate.hpp>
#include <memory>
#include <optional>

#include "workers/compile_threads.hpp"

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

  // How many candidates may be prepared ahead of their turn; 0: none.
  virtual std::size_t look_ahead() const { return 0; }
  // Prepares the candidate on another thread, bracketed there for the watchdog and by the journal's marker.
  virtual std::shared_ptr<CompileThreads::Order> prepare_ahead(const Candidate&, CompileThreads::Function) {
    return nullptr;
  }
  // As CompileThreads::collect.
  virtual std::optional<Preparation> collect(CompileThreads::Order&) { return {}; }
  // Nothing is prepared ahead any more when this returns.
  virtual void end_ahead() {}
};

}  // namespace hone::workers
