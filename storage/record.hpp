// What the database remembers, as plain values.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <hone/candidate.hpp>
#include <hone/code_facts.hpp>
#include <hone/environment.hpp>
#include <hone/problem.hpp>
#include <hone/trial.hpp>
#include <hone/verdict.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hone::storage {

// A candidate of a record with what was known of it.
struct RecordedCandidate {
  Candidate candidate;
  Timing timing;
  std::uint64_t workspace = 0;  // bytes

  friend bool operator==(const RecordedCandidate&, const RecordedCandidate&) = default;
};

// How a timing was taken.
struct MeasurementPolicy {
  bool cold_cache = false;
  std::uint32_t min_samples = 0;
  friend bool operator==(const MeasurementPolicy&, const MeasurementPolicy&) = default;
};

// What the last verification of a problem concluded.
struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  double ratio = 0;   // measured over reported time; 0: there was none
  std::string cause;  // a sentence

  friend bool operator==(const Judgement&, const Judgement&) = default;
};

// What is kept for a problem in an environment.
struct Record {
  ProblemKey key;
  std::string problem;            // canonical text
  std::uint64_t environment = 0;  // Environment::id()
  bool measured = true;           // false: predicted by a model
  RecordedCandidate best;
  std::vector<RecordedCandidate> rivals;  // next best first
  MeasurementPolicy measurement;
  std::chrono::sys_seconds date{};
  std::chrono::nanoseconds budget_spent{0};
  std::uint64_t evaluations = 0;
  bool complete = false;  // the search ended by itself
  StopReason stop = StopReason::none;
  std::optional<Judgement> judgement = {};  // none: tuned, and never verified

  friend bool operator==(const Record&, const Record&) = default;
};

// One evaluated candidate, winner or loser.
struct Trial {
  ProblemKey key;
  std::string problem;  // canonical text
  std::uint64_t environment = 0;
  RecordedCandidate candidate;
  TrialStatus status = TrialStatus::ok;
  std::string reason;  // of a failure
  std::chrono::sys_seconds date{};
  bool cold_cache = false;  // how the time was taken
  CodeFacts facts = {};     // of the candidate's code

  friend bool operator==(const Trial&, const Trial&) = default;
};

// A candidate that must not run again for a problem in an environment.
struct Quarantined {
  ProblemKey key;
  std::string problem;  // canonical text
  std::uint64_t environment = 0;
  Candidate candidate;
  std::string cause;
  std::chrono::sys_seconds date{};

  friend bool operator==(const Quarantined&, const Quarantined&) = default;
};

// A compiled code object. The key is a hash of all that it was made from.
struct Binary {
  std::array<std::uint8_t, 16> key{};
  std::vector<std::uint8_t> code;
  std::chrono::sys_seconds date{};

  friend bool operator==(const Binary&, const Binary&) = default;
};

}  // namespace hone::storage
