// Brings candidates to the start of a measurement: validated, prepared, run once, and right.
#pragma once

#include <cstdint>
#include <hone/device.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/isolation/isolation.hpp"
#include "workers/job.hpp"
#include "workers/operands.hpp"
#include "workers/race.hpp"
#include "workers/sampling.hpp"
#include "workers/stream_worker.hpp"
#include "workers/supervisor.hpp"
#include "workers/validation.hpp"

namespace hone::workers {

// A candidate that works.
struct Entrant {
  Contestant contestant;
  std::size_t trial = 0;  // its place in Outcome::trials
  std::uint64_t workspace = 0;
};

// What one job evaluates. Candidates are evaluated once; the operands and the reference are made for the first one.
// Members throw std::system_error (out_of_memory, no_device, clock_failed) when the job cannot go on, and what the
// journal throws.
class Evaluation {
 public:
  // All must outlive the evaluation.
  Evaluation(const Subject& subject, Device& device, Stream& stream, Supervisor& supervisor, Journal& journal,
             const WorkerOptions& options);
  // Candidates are prepared, run and checked by `isolation`; only what is to be used here is prepared here, too.
  Evaluation(const Subject& subject, Device& device, Isolation& isolation, Supervisor& supervisor, Journal& journal,
             const WorkerOptions& options);
  // Waits for what is being prepared ahead.
  ~Evaluation();

  // Begins to prepare a candidate that will be entered soon, on another thread, when that compiles and nothing speaks
  // against the candidate. Those that are never entered leave no trial.
  void prepare_ahead(const Candidate& candidate);
  // What is prepared ahead and was not entered is given up; waits for what has begun.
  void end_ahead();

  // The candidate, checked. nullptr when it does not work, which is a trial with its reason, or when the job was
  // cancelled, which is not. The pointer stays valid.
  Entrant* enter(const Candidate& candidate);
  // Records that the candidate cannot be entered.
  void refuse(const Candidate& candidate, std::string reason);
  // Tells the journal of the last trial.
  void report_last() { journal_.evaluated(subject_.problem, trials_.back()); }
  // True when the candidate was entered or refused before.
  bool known(const Candidate& candidate) const;

  // Only after enter() returned an entrant.
  Sampler& sampler() noexcept { return *sampler_; }
  Supervisor& supervisor() noexcept { return supervisor_; }
  const Subject& subject() const noexcept { return subject_; }
  // Says whether candidates apply, and runs what is used.
  Device& device() noexcept { return device_; }
  // Where they are measured: the same, or what stands for it in another process.
  Device& measuring_device() noexcept { return measuring_device_; }
  IdleTime& idle_time() noexcept { return *options_.idle_time; }

  // The trial becomes a failed one. Throws when the failure is not the candidate's.
  void fail(Entrant& entrant, const Failure& failure);
  // Sets the trial's timing to that of the samples so far.
  void record(const Entrant& entrant, bool screened);
  // Ready to be used in this process; nothing when it cannot be prepared here, and then the trial has failed.
  std::optional<Prepared> prepared(Entrant& entrant);

  // Candidates that were prepared or refused so far.
  std::uint64_t evaluations() const noexcept { return trials_.size(); }
  std::vector<Trial> take_trials() { return std::move(trials_); }
  const Trial& trial(const Entrant& entrant) const { return trials_[entrant.trial]; }

 private:
  // A candidate that is prepared ahead, or was.
  struct Ahead {
    ValidCandidate target;
    std::shared_ptr<CompileThreads::Order> order;
    std::optional<Preparation> preparation = {};
  };
  std::optional<Ahead> take_ahead(const std::string& identity);
  bool quarantined(const Candidate& candidate) const;
  // Validated, with room for its operands and workspace; else nothing, and the trial says why.
  std::optional<ValidCandidate> admit(const Candidate& candidate, std::optional<Ahead>& ahead, Trial& trial);
  std::shared_ptr<const Invoker> prepare(const Candidate& candidate, std::optional<Ahead> ahead, Trial& trial);
  bool first_run(Entrant& entrant, Trial& trial);
  // The marker that tells, after a crash, who was running. One for what is isolated would tell nothing.
  void begin_attempt(const Candidate& candidate);
  void end_attempt(const Candidate& candidate);
  void make_operands();

  const Subject& subject_;
  Device& device_;
  Isolation* const isolation_;  // null: none
  Device& measuring_device_;
  Stream& stream_;
  Supervisor& supervisor_;
  Journal& journal_;
  const WorkerOptions options_;
  std::optional<Operands> operands_;
  std::optional<Sampler> sampler_;
  std::uint64_t buffer_bytes_ = 0;
  std::vector<Trial> trials_;
  std::map<std::string, std::unique_ptr<Entrant>> entrants_;  // null: does not work
  std::map<std::string, Ahead> ahead_;
};

}  // namespace hone::workers
