// What a worker tells while it works, as the scheduler keeps it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

#include <hone/clock.hpp>
#include <hone/engine.hpp>

#include "engine/index.hpp"
#include "engine/log.hpp"
#include "engine/resolver.hpp"
#include "storage/library.hpp"
#include "workers/stream_worker.hpp"

namespace hone::engine {

// Writes crash markers for the problem that its worker is given, and keeps count.
class AttemptJournal final : public workers::Journal {
 public:
  AttemptJournal(storage::Library& library, const Clock& clock) : library_(library), clock_(clock) {}

  void begin_job(const Slot& slot) {
    environment_.store(slot.site->environment_id, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    progress_ = Progress{.problem = slot.problem.text(), .device = slot.site->device->name()};
    begun_ = clock_.now();
  }
  void end_job() {
    const std::lock_guard lock(mutex_);
    progress_.reset();
  }
  std::optional<Progress> progress() const {
    const std::lock_guard lock(mutex_);
    std::optional<Progress> progress = progress_;
    if (progress) progress->elapsed = clock_.now() - begun_;
    return progress;
  }

  void begin_attempt(const Problem& problem, const Candidate& candidate) override {
    const auto error = library_.begin_attempt(problem.key(), problem.text(), environment_.load(), candidate);
    if (error) log().warn("no crash marker for {}: {}", to_string(candidate), error.message());
  }
  void end_attempt(const Problem& problem, const Candidate& candidate) override {
    const auto error = library_.end_attempt(problem.key(), environment_.load(), candidate);
    if (error) log().warn("the crash marker of {} stays: {}", to_string(candidate), error.message());
  }
  void evaluated(const Problem&, const workers::Trial& trial) override {
    const std::lock_guard lock(mutex_);
    if (!progress_) return;
    ++progress_->evaluations;
    if (!trial.timing.known() ||
        (progress_->best_timing.known() && progress_->best_timing.median <= trial.timing.median)) {
      return;
    }
    progress_->best = trial.candidate;
    progress_->best_timing = trial.timing;
  }

 private:
  storage::Library& library_;
  const Clock& clock_;
  std::atomic<std::uint64_t> environment_{0};
  mutable std::mutex mutex_;
  std::optional<Progress> progress_;
  std::chrono::nanoseconds begun_{0};
};

}  // namespace hone::engine
