// What a verification concludes: pure functions over plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <hone/candidate.hpp>
#include <hone/event.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "storage/record.hpp"
#include "workers/job.hpp"

namespace hone::engine {

using Duration = std::chrono::duration<double, std::nano>;

// What stands behind the claimed candidate's reported time.
enum class Source : std::uint8_t {
  same_device,     // a measurement on a device of this class, perhaps with other drivers or libraries
  foreign_device,  // a measurement on a device of another class: that a candidate is faster here says nothing
  predicted,       // a model: the time is not one, only rivals can judge
};

struct Rival {
  Candidate candidate;
  Timing measured;                                // not known: it failed
  std::optional<Duration> reported;               // by the record that claims
  std::optional<workers::Comparison> comparison;  // with the claimed candidate; none: dropped, failed, or it failed
};

struct Evidence {
  Timing measured;                   // of the claimed candidate, here; not known: it failed
  std::optional<Duration> reported;  // none or not positive: only rivals can judge
  Source source = Source::same_device;
  std::vector<Rival> rivals;
  workers::Load load;
  std::error_code error;  // the verification could not be done at all
};

struct Thresholds {
  double tolerance = 0.15;
  double tie_margin = 0.02;
};

struct Conclusion {
  Verdict verdict = Verdict::inconclusive;
  double ratio = 0;  // measured time, corrected for load, over reported time; 0 when there is none
  // A rival that is to replace the claimed candidate, whatever else the verdict asks for. Always set with re_rank; with
  // tune and inconclusive it is what is best until that is done.
  std::optional<Candidate> upgrade;
  std::string cause;  // a sentence
};

// True when the challenger is faster than the incumbent by more than the margin, with confidence. Ties are not better.
bool better(const workers::Comparison& comparison, double tie_margin) noexcept;

// - failed: the verification could not be done.
// - accept: the claimed candidate is within the tolerance and no rival beats it.
// - re_rank: a rival beats it or it failed, and the rival's own time is in order or unknown.
// - tune: it is slower than the tolerance allows, suspiciously fast from a foreign device, nothing works, or there is
//   neither a reported time nor a rival that speaks for it.
// - inconclusive: an interval that is wider than twice the tie margin straddles a threshold, or the load was unsteady.
// A
//   narrower one is decided by its median (a rival's: it is a tie), so that enough samples always decide.
Conclusion verdict(const Evidence& evidence, const Thresholds& thresholds);

// The evidence in the outcome of `job`. `recorded`: the claiming record's rivals with their times.
Evidence gather(const workers::VerifyJob& job, const workers::Outcome& outcome, Source source,
                std::span<const storage::RecordedCandidate> recorded);

}  // namespace hone::engine
