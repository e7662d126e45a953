// Scores verification policies on recorded pairs: the records of one find-db are the system database, the times of
// another are what this machine measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/find_db_text.hpp"

namespace hone::tools {

struct ReplayOptions {
  // Accepted excess of measured over expected time.
  double tolerance = 0.15;
  // Recorded candidates that a verification evaluates at most.
  std::size_t candidates = 4;
  // Share of the keys that may be tuned, unless nothing that was evaluated worked. Records of another architecture want
  // more than those of another model of the same one.
  double most_tuned = 0.05;
};

struct ReplayScore {
  std::uint64_t keys = 0;          // that both files have, with a time for every entry
  double evaluations_per_key = 0;  // tried candidates, failing ones and those of tunings included
  double tuned_share = 0;          // of the keys; a tuning evaluates all that the machine has
  double slower_5 = 0;             // share of keys whose final choice is at least 5 % slower than the machine's best
  double slower_15 = 0;            // the same with 15 %
  double geomean_regret = 1;       // of final choice over the machine's best
};

// The bare rule: evaluate the recorded best, tune when it fails or takes more than 1 + tolerance of its recorded time.
ReplayScore replay_bare_rule(const FindDbText& recorded, const FindDbText& measured, const ReplayOptions& options);

// Re-ranking first, and learning on the way, from evaluated candidates only. For each key in the order of `recorded`:
// 1. Recorded times are corrected by what the solver's times turned out to be on this machine for similar problems. The
//    recorded best is evaluated, and its rivals but those that are expected to be more than six times as slow as the
//    best expectation.
// 2. Of the solvers that the record does not name, but that won on this machine for problems of the same direction and
//    type, the most promising one is evaluated when its chance of a gain, learned by trying, is at least 8 %.
// 3. The key is tuned when nothing worked, or when a tuning in a situation like this (recorded candidates that failed,
//    excess over the expected time, whether the record is full) has a learned chance of at least 10 % to gain, as long
//    as no more than the allowed share of the keys so far were tuned.
// A gain is an improvement by more than a third of the tolerance.
ReplayScore replay_policy(const FindDbText& recorded, const FindDbText& measured, const ReplayOptions& options);

}  // namespace hone::tools
