// Explanations: why the present solution of a problem stands.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hone/candidate.hpp>
#include <hone/trial.hpp>
#include <hone/verdict.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hone {

// Plain data; see to_string for people.
struct Explanation {
  struct Entry {
    Candidate candidate;
    Timing timing;
  };
  // The stored record behind the solution.
  struct Evidence {
    std::string source;    // "this environment", "the same device with other versions", ...
    bool measured = true;  // false: predicted
    Entry best;
    std::vector<Entry> rivals;  // next best first
    std::chrono::sys_seconds date{};
    std::uint64_t evaluations = 0;
    std::chrono::nanoseconds budget_spent{0};
    StopReason stop = StopReason::none;
    bool complete = false;  // the search behind it ended by itself
    bool cold_cache = false;
  };
  struct Judgement {
    Verdict verdict = Verdict::inconclusive;
    double ratio = 0;  // measured over reported time; 0: there was none
    std::string cause;
  };
  struct Failure {
    Candidate candidate;
    std::string cause;
  };
  // What the background does with the problem now.
  struct Background {
    std::string state = "idle";   // idle, queued, running, storing, waiting
    std::string task = "none";    // none, prepare, verify, tune
    std::size_t queue_place = 0;  // 1: next; 0: it does not wait for a worker
    std::size_t queue_length = 0;
    double expected_saving = 0;  // seconds of launches saved in a second
    std::chrono::nanoseconds expected_cost{0};
    unsigned retries = 0;  // of an inconclusive verification
  };

  std::string problem;  // canonical text
  std::string device;
  Candidate candidate;  // of the solution; empty when there is none
  Provenance provenance = Provenance::fallback;
  Timing timing;
  std::string reason;                // why there is no solution
  double observed_median_ns = 0;     // of launches that were reported; 0: too few
  std::optional<Candidate> offered;  // waits for the program's answer
  std::optional<Evidence> evidence;
  std::optional<Judgement> judgement;  // of the last verification
  std::vector<Failure> quarantined;
  Background background;
};

// Several lines for a person.
std::string to_string(const Explanation& explanation);

}  // namespace hone
