// From what a worker measured to what the database remembers: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include <hone/explanation.hpp>

#include "engine/resolver.hpp"
#include "storage/record.hpp"
#include "workers/job.hpp"

namespace hone::engine {

// What the winner of an outcome is, with what is needed to publish and to store it.
struct Winner {
  workers::Prepared prepared;
  Timing timing;
};

// The candidate with this name among the outcome's prepared ones, with its newest timing; nothing when it is not ready.
std::optional<Winner> winner(const workers::Outcome& outcome, const Candidate& candidate);

// The best candidate of a tuning outcome: the fastest challenger that is better than the incumbent, else the incumbent,
// else - the incumbent failed - the fastest that works.
std::optional<Winner> tuned_winner(const workers::Outcome& outcome, const Candidate& incumbent, double tie_margin);

// What is common to everything stored about one problem on one site.
struct Subject {
  ProblemKey key;
  std::string problem;
  std::uint64_t environment = 0;
  std::chrono::sys_seconds date{};
};

// A user record of the winner; the other measured candidates are its rivals, fastest first, at most `max_rivals` and
// two of a solver, so that a verification elsewhere has different algorithms to choose from.
storage::Record make_record(const Subject& subject, const Winner& best, const workers::Outcome& outcome,
                            std::size_t max_rivals = 7);

// Every trial, winner or loser.
std::vector<storage::Trial> make_trials(const Subject& subject, const workers::Outcome& outcome);

// The candidates of the fastest trials that worked, fastest first, at most `count`.
std::vector<Candidate> fastest_of(const std::vector<workers::Trial>& trials, std::size_t count);

// Adds what a stored record says.
void explain(const storage::Found& found, Explanation& explanation);

// A candidate with such an outcome must not run again for this problem here.
bool deserves_quarantine(TrialStatus status) noexcept;

}  // namespace hone::engine
