#include "workers/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <hone/error.hpp>

#include "workers/solver_call.hpp"
#include "workers/validation.hpp"

namespace hone::workers {
namespace {

constexpr const char* prepared_nothing = "its solver prepared nothing";

std::string identity(const Candidate& candidate) {
  return fmt::format("{} {}", candidate.version, to_string(candidate));
}

Preparation prepare_here(const ValidCandidate& target, const Problem& problem, Device& device) {
  Preparation preparation;
  const auto prepare = [&] {
    try {
      auto prepared = target.solver->prepare(problem, target.configuration, device);
      if (prepared) preparation.facts = prepared->facts();
      return prepared;
    } catch (const RejectedCode& rejected) {
      preparation.facts = rejected.facts();
      throw;
    }
  };
  auto invoker = call_solver(prepare, preparation.reason);
  if (invoker && !*invoker) preparation.reason = prepared_nothing;
  preparation.invoker = std::move(invoker).value_or(nullptr);
  return preparation;
}

}  // namespace

Evaluation::Evaluation(const Subject& subject, Device& device, Stream& stream, Supervisor& supervisor, Journal& journal,
                       const WorkerOptions& options)
    : subject_(subject),
      device_(device),
      isolation_(nullptr),
      measuring_device_(device),
      stream_(stream),
      supervisor_(supervisor),
      journal_(journal),
      options_(options) {}

Evaluation::Evaluation(const Subject& subject, Device& device, Isolation& isolation, Supervisor& supervisor,
                       Journal& journal, const WorkerOptions& options)
    : subject_(subject),
      device_(device),
      isolation_(&isolation),
      measuring_device_(isolation.device()),
      stream_(isolation.stream()),
      supervisor_(supervisor),
      journal_(journal),
      options_(options) {
  isolation.on_restart([this] {
    if (operands_) operands_->reset();
  });
}

Evaluation::~Evaluation() {
  end_ahead();
  if (isolation_) isolation_->on_restart({});
}

bool Evaluation::known(const Candidate& candidate) const { return entrants_.contains(identity(candidate)); }

void Evaluation::prepare_ahead(const Candidate& candidate) {
  std::string name = identity(candidate);
  if (supervisor_.look_ahead() == 0 || quarantined(candidate)) return;
  if (entrants_.contains(name) || ahead_.contains(name)) return;
  std::string reason;
  const auto target = call_solver(
      [&]() -> std::optional<ValidCandidate> {
        auto valid = validate(*subject_.operation, subject_.problem, device_, candidate, reason);
        if (valid && !valid->solver->compiles(subject_.problem)) valid.reset();
        return valid;
      },
      reason);
  // Whatever is wrong with it is found again, and recorded, in its turn.
  if (!target || !*target) return;
  auto order = supervisor_.prepare_ahead(candidate, [target = **target, problem = subject_.problem, &device = device_] {
    try {
      return prepare_here(target, problem, device);
    } catch (...) {
      return Preparation{.error = std::current_exception()};  // rethrown in the candidate's turn
    }
  });
  if (order) ahead_.emplace(std::move(name), Ahead{**target, std::move(order)});
}

void Evaluation::end_ahead() {
  ahead_.clear();
  supervisor_.end_ahead();
}

std::optional<Evaluation::Ahead> Evaluation::take_ahead(const std::string& identity) {
  auto node = ahead_.extract(identity);
  if (!node) return {};
  Ahead& ahead = node.mapped();
  ahead.preparation = supervisor_.collect(*ahead.order);
  return std::move(ahead);
}

Entrant* Evaluation::enter(const Candidate& candidate) {
  const std::string name = identity(candidate);
  const auto [place, is_new] = entrants_.try_emplace(name);
  if (!is_new) return place->second && place->second->contestant.invoker ? place->second.get() : nullptr;
  std::optional<Ahead> ahead = take_ahead(name);
  if (!supervisor_.proceed()) {
    entrants_.erase(place);
    return nullptr;
  }
  Trial trial;
  trial.candidate = candidate;
  trial.status = TrialStatus::not_applicable;
  auto entrant = std::make_unique<Entrant>();
  entrant->contestant.candidate = candidate;
  entrant->trial = trials_.size();
  entrant->contestant.invoker = prepare(candidate, std::move(ahead), trial);
  entrant->workspace = trial.workspace;
  const bool works = entrant->contestant.invoker && first_run(*entrant, trial);
  trials_.push_back(std::move(trial));
  if (works) place->second = std::move(entrant);
  return place->second.get();
}

void Evaluation::refuse(const Candidate& candidate, std::string reason) {
  const auto [place, is_new] = entrants_.try_emplace(identity(candidate));
  if (is_new) trials_.push_back({candidate, TrialStatus::not_applicable, {}, false, 0, std::move(reason)});
}

bool Evaluation::quarantined(const Candidate& candidate) const {
  return std::find(subject_.quarantined.begin(), subject_.quarantined.end(), candidate) != subject_.quarantined.end();
}

std::optional<ValidCandidate> Evaluation::admit(const Candidate& candidate, std::optional<Ahead>& ahead, Trial& trial) {
  if (quarantined(candidate)) {
    trial.reason = "it is quarantined";
    return {};
  }
  std::optional<ValidCandidate> target;
  if (ahead) {
    target = std::move(ahead->target);
  } else if (auto valid = call_solver(
                 [&] { return validate(*subject_.operation, subject_.problem, device_, candidate, trial.reason); },
                 trial.reason)) {
    target = *std::move(valid);
  }
  if (!target) return {};
  trial.workspace = target->workspace;
  make_operands();
  if (target->workspace > options_.max_buffer_bytes - buffer_bytes_) {
    trial.reason =
        fmt::format("its workspace of {} bytes does not fit into max_buffer_bytes beside {} bytes of buffers",
                    target->workspace, buffer_bytes_);
    return {};
  }
  if (target->workspace > 0 && !stream_.scratch(target->workspace)) {
    trial.reason = fmt::format("the device has no memory for its workspace of {} bytes", target->workspace);
    return {};
  }
  return target;
}

std::shared_ptr<const Invoker> Evaluation::prepare(const Candidate& candidate, std::optional<Ahead> ahead,
                                                   Trial& trial) {
  const std::optional<ValidCandidate> target = admit(candidate, ahead, trial);
  if (!target) return nullptr;
  if (ahead && ahead->preparation) {
    Preparation& preparation = *ahead->preparation;
    if (preparation.error) std::rethrow_exception(preparation.error);
    trial.facts = std::move(preparation.facts);
    if (preparation.invoker) {
      begin_attempt(candidate);
      return std::move(preparation.invoker);
    }
    trial.reason = std::move(preparation.reason);
    trial.status = preparation.status;
    return nullptr;
  }
  begin_attempt(candidate);
  supervisor_.begin(candidate);
  Preparation preparation =
      isolation_ ? isolation_->prepare(subject_, candidate) : prepare_here(*target, subject_.problem, device_);
  supervisor_.end();
  trial.facts = std::move(preparation.facts);
  if (preparation.invoker) return std::move(preparation.invoker);
  end_attempt(candidate);
  trial.reason = std::move(preparation.reason);
  trial.status = preparation.status;
  return nullptr;
}

bool Evaluation::first_run(Entrant& entrant, Trial& trial) {
  operands_->reset();
  const Failure failure = sampler_->run(entrant.contestant);
  end_attempt(trial.candidate);
  if (failure) {
    if (ends_the_job(failure.code)) throw std::system_error(failure.code, failure.cause);
    trial.status = status_of(failure.code, TrialStatus::launch_failed);
    trial.reason = failure.cause;
    return false;
  }
  if (auto wrong = operands_->check()) {
    // Another candidate may have damaged the process: then it has a second chance, alone.
    if (isolation_ && isolation_->discard()) return first_run(entrant, trial);
    trial.status = TrialStatus::wrong_result;
    trial.reason = *std::move(wrong);
    return false;
  }
  trial.status = TrialStatus::ok;
  return true;
}

void Evaluation::begin_attempt(const Candidate& candidate) {
  if (!isolation_) journal_.begin_attempt(subject_.problem, candidate);
}

void Evaluation::end_attempt(const Candidate& candidate) {
  if (!isolation_) journal_.end_attempt(subject_.problem, candidate);
}

void Evaluation::make_operands() {
  if (operands_) return;
  // A flush leaves nothing of the operands behind when it is twice as large as the cache.
  const std::size_t flush_bytes = options_.cold_cache ? 2 * measuring_device_.last_level_cache_bytes() : 0;
  if (flush_bytes >= options_.max_buffer_bytes) {
    throw Error(Errc::out_of_memory, fmt::format("flushing the cache takes {} bytes, max_buffer_bytes is {}",
                                                 flush_bytes, options_.max_buffer_bytes));
  }
  operands_.emplace(*subject_.operation, subject_.problem, measuring_device_, options_.max_buffer_bytes - flush_bytes,
                    options_.seed);
  buffer_bytes_ = operands_->bytes() + flush_bytes;
  Buffer flush = flush_bytes > 0 ? measuring_device_.allocate(flush_bytes) : nullptr;
  SamplingOptions sampling = options_.sampling;
  sampling.cold_cache = options_.cold_cache;
  sampler_.emplace(measuring_device_, stream_, supervisor_, operands_->arguments(), sampling, std::move(flush),
                   flush_bytes);
}

void Evaluation::fail(Entrant& entrant, const Failure& failure) {
  if (ends_the_job(failure.code)) throw std::system_error(failure.code, failure.cause);
  Trial& trial = trials_[entrant.trial];
  trial.status = status_of(failure.code, TrialStatus::launch_failed);
  trial.reason = failure.cause;
  trial.timing = {};
  trial.screened = false;
  entrant.contestant.invoker = nullptr;
}

void Evaluation::record(const Entrant& entrant, bool screened) {
  Trial& trial = trials_[entrant.trial];
  trial.timing = timing_of(entrant.contestant.samples);
  trial.screened = screened;
}

std::optional<Prepared> Evaluation::prepared(Entrant& entrant) {
  const Candidate& candidate = entrant.contestant.candidate;
  if (!isolation_) return Prepared{candidate, entrant.contestant.invoker, entrant.workspace};
  Preparation preparation;
  const auto target = call_solver(
      [&] { return validate(*subject_.operation, subject_.problem, device_, candidate, preparation.reason); },
      preparation.reason);
  if (target && *target) {
    journal_.begin_attempt(subject_.problem, candidate);
    supervisor_.begin(candidate);
    preparation = prepare_here(**target, subject_.problem, device_);
    supervisor_.end();
    journal_.end_attempt(subject_.problem, candidate);
  }
  if (preparation.invoker) return Prepared{candidate, std::move(preparation.invoker), entrant.workspace};
  Trial& trial = trials_[entrant.trial];
  trial.status = TrialStatus::prepare_failed;
  trial.timing = {};
  trial.screened = false;
  trial.reason = std::move(preparation.reason);
  return {};
}

}  // namespace hone::workers
