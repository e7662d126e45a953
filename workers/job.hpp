// Jobs that the engine gives to a stream worker, and what comes back. Workers measure; the engine decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <hone/candidate.hpp>
#include <hone/code_facts.hpp>
#include <hone/operation.hpp>
#include <hone/problem.hpp>
#include <hone/solver.hpp>
#include <hone/trial.hpp>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

namespace hone::workers {

// One evaluated candidate.
struct Trial {
  Candidate candidate;
  TrialStatus status = TrialStatus::ok;
  Timing timing;                // known when status is ok
  bool screened = false;        // dropped after a probe: the timing is of one or few runs
  std::uint64_t workspace = 0;  // bytes
  std::string reason;           // of a failure
  CodeFacts facts = {};         // of its code, where it was prepared, or rejected for them
};

// `challenger` against `incumbent`, measured in turns so that load and clocks meet both alike. The ratio is the median
// of challenger time over incumbent time of neighbouring samples, with its distribution-free 95 % interval.
struct Comparison {
  Candidate challenger;
  Timing incumbent_timing;
  Timing challenger_timing;
  double ratio = 1;
  double low = 1;
  double high = 1;
};

// A candidate that is ready to run.
struct Prepared {
  Candidate candidate;
  std::shared_ptr<const Invoker> invoker;
  std::uint64_t workspace = 0;  // bytes
};

struct Subject {
  Problem problem;
  std::shared_ptr<const Operation> operation;
  std::vector<Candidate> quarantined;  // never run
};

// Zero: no limit.
struct Budget {
  std::chrono::nanoseconds wall_time{0};  // of working, pauses and rests not counted
  std::uint64_t evaluations = 0;
  std::uint64_t patience = 0;
};

// Prepares one candidate and checks its result; measures nothing.
struct PrepareJob {
  Subject subject;
  Candidate candidate;
};

// Evaluates the claimed candidate and its rivals. Rivals much slower than the best are dropped after one probe, the
// rest are compared with the claimed one in turns. Sampling stops as soon as neither threshold lies inside an interval.
// Where the claimed one does not work, the rivals are timed in turns and nothing is compared.
struct VerifyJob {
  Subject subject;
  Candidate claimed;
  std::optional<std::chrono::duration<double, std::nano>> reported = {};  // none: judged against rivals only
  std::vector<Candidate> rivals = {};
  double tolerance = 0.15;                // threshold of measured / reported
  double tie_margin = 0.02;               // threshold of the comparisons
  std::chrono::nanoseconds wall_time{0};  // of working, pauses and rests not counted; zero: no limit
};

// Finds the best candidate: first `first` in order, then each solver's default configuration, then, with
// `search_parameters`, points of their spaces; a solver gets the more of the budget the faster its best point is. The
// best few are compared with the incumbent in turns; where that does not work, they are timed in turns and nothing is
// compared. Patience counts points of the spaces only.
struct TuneJob {
  Subject subject;
  Candidate incumbent;
  std::vector<Candidate> first = {};
  bool search_parameters = true;
  bool may_compile = true;  // false: only solvers that need no compiling for this problem
  double tie_margin = 0.02;
  Budget budget = {};
  std::uint64_t seed = 1;
  std::vector<Trial> past = {};  // of an interrupted search for this problem here, which goes on
  // Of this problem in another environment or of a near one, all measured together: how their times compare with each
  // other is what the search expects at first.
  std::vector<Trial> elsewhere = {};
};

using Job = std::variant<PrepareJob, VerifyJob, TuneJob>;

// What a reference kernel said about the device while the claimed or incumbent candidate was measured in turns with it.
struct Load {
  double slowdown = 1;    // its time now over its idle time; 1 also where nothing is known
  bool steady = true;     // false: it changed too much, or is too slow, for a correction
  bool trusted = true;    // false: little is known of the idle time; the correction may cast doubt but not decide
  Timing corrected = {};  // that candidate's time as it would be on the idle device, sample by sample; not always known
};

struct Outcome {
  std::vector<Trial> trials;            // in the order of evaluation; the claimed or incumbent one first
  std::vector<Comparison> comparisons;  // against the claimed or incumbent candidate, fastest challenger first
  std::vector<Prepared> prepared;       // the claimed or incumbent one, and those compared with it or timed in turns
  StopReason stop = StopReason::none;
  std::uint64_t evaluations = 0;
  std::chrono::nanoseconds busy{0};  // time spent working, pauses not counted
  Load load;
  std::error_code error;  // the job could not be done at all: no memory, device lost, cancelled
  std::string cause;
};

}  // namespace hone::workers
