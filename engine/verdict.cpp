#include "engine/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workers/order_statistics.hpp"

namespace hone::engine {
namespace {

using workers::Side;

enum class Standing { below, within, above, unclear, unknown };

struct RatioInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};

std::optional<RatioInterval> ratio_to(const Timing& measured, const std::optional<Duration>& reported,
                                      double slowdown) {
  if (!measured.known() || !reported) return {};
  const double scale = reported->count() * slowdown;
  if (!(scale > 0) || !std::isfinite(scale)) return {};
  return RatioInterval{measured.median.count() / scale, measured.low.count() / scale, measured.high.count() / scale};
}

// Of the claimed candidate.
std::optional<RatioInterval> claimed_ratio(const Evidence& evidence) {
  if (!evidence.measured.known()) return {};
  if (evidence.load.corrected.known()) return ratio_to(evidence.load.corrected, evidence.reported, 1);
  return ratio_to(evidence.measured, evidence.reported, evidence.load.slowdown);
}

Side side(const RatioInterval& ratio, double threshold, double tie_margin) {
  return workers::side_of(threshold, ratio.median, ratio.low, ratio.high, 2 * tie_margin);
}

Standing standing(const RatioInterval& ratio, Source source, const Thresholds& thresholds) {
  const double upper = 1 + thresholds.tolerance;
  const Side of_upper = side(ratio, upper, thresholds.tie_margin);
  const Side of_lower = source == Source::foreign_device ? side(ratio, 1 / upper, thresholds.tie_margin) : Side::above;
  if (of_upper == Side::above) return Standing::above;
  if (of_lower == Side::below) return Standing::below;
  return of_upper == Side::unclear || of_lower == Side::unclear ? Standing::unclear : Standing::within;
}

// A correction that is not trusted yet may cast doubt and not turn a verdict.
Standing standing(const std::optional<RatioInterval>& corrected, const std::optional<RatioInterval>& uncorrected,
                  const Evidence& evidence, const Thresholds& thresholds) {
  if (!corrected || !uncorrected || evidence.source == Source::predicted) return Standing::unknown;
  if (!evidence.load.steady) return Standing::unclear;
  const Standing stands = standing(*corrected, evidence.source, thresholds);
  if (evidence.load.trusted || stands == standing(*uncorrected, evidence.source, thresholds)) return stands;
  return Standing::unclear;
}

bool undecided(const workers::Comparison& comparison, double tie_margin) {
  return workers::side_of(1 - tie_margin, comparison.ratio, comparison.low, comparison.high, 2 * tie_margin) ==
         Side::unclear;
}

// The rival to take in place of the claimed candidate.
const Rival* winner(const Evidence& evidence, double tie_margin) {
  const Rival* best = nullptr;
  for (const Rival& rival : evidence.rivals) {
    if (!rival.measured.known()) continue;
    if (!evidence.measured.known()) {
      if (!best || rival.measured.median < best->measured.median) best = &rival;
    } else if (rival.comparison && better(*rival.comparison, tie_margin)) {
      if (!best || rival.comparison->ratio < best->comparison->ratio) best = &rival;
    }
  }
  return best;
}

Conclusion conclude_for_rival(const Rival& rival, const Evidence& evidence, const Thresholds& thresholds,
                              Conclusion conclusion) {
  conclusion.upgrade = rival.candidate;
  const std::string_view what = evidence.measured.known() ? "beats the claimed candidate" : "works, the claimed not";
  // Either time will do: its own, or the one that the record promised for the best.
  const auto standing_to = [&](const std::optional<Duration>& reported) {
    return standing(ratio_to(rival.measured, reported, evidence.load.slowdown), ratio_to(rival.measured, reported, 1),
                    evidence, thresholds);
  };
  const Standing own = standing_to(rival.reported);
  const Standing promised = standing_to(evidence.reported);
  const auto is = [&](Standing wanted) { return own == wanted || promised == wanted; };
  if (is(Standing::within) || (own == Standing::unknown && promised == Standing::unknown)) {
    conclusion.verdict = Verdict::re_rank;
    conclusion.cause = fmt::format("{} {}", to_string(rival.candidate), what);
  } else if (is(Standing::unclear)) {
    conclusion.verdict = Verdict::inconclusive;
    conclusion.cause =
        fmt::format("{} {}; whether its own time is in order is unclear", to_string(rival.candidate), what);
  } else {
    conclusion.verdict = Verdict::tune;
    conclusion.cause = fmt::format("{} {}, but is itself not as fast as recorded", to_string(rival.candidate), what);
  }
  return conclusion;
}

}  // namespace

bool better(const workers::Comparison& comparison, double tie_margin) noexcept {
  return comparison.ratio > 0 && comparison.high < 1 - tie_margin && comparison.low <= comparison.high;
}

Conclusion verdict(const Evidence& evidence, const Thresholds& thresholds) {
  Conclusion conclusion;
  if (evidence.error) {
    conclusion.verdict = Verdict::failed;
    conclusion.cause = evidence.error.message();
    return conclusion;
  }
  const auto ratio = claimed_ratio(evidence);
  if (ratio && evidence.source != Source::predicted) conclusion.ratio = ratio->median;
  if (const Rival* rival = winner(evidence, thresholds.tie_margin)) {
    return conclude_for_rival(*rival, evidence, thresholds, std::move(conclusion));
  }
  const auto as = [&](Verdict verdict, std::string cause) {
    conclusion.verdict = verdict;
    conclusion.cause = std::move(cause);
    return conclusion;
  };
  if (!evidence.measured.known()) return as(Verdict::tune, "the claimed candidate failed and no rival works");
  const Standing stands = standing(ratio, ratio_to(evidence.measured, evidence.reported, 1), evidence, thresholds);
  switch (stands) {
    case Standing::above:
      return as(Verdict::tune, fmt::format("it takes {:.2f} times the reported time", ratio->median));
    case Standing::below:
      return as(Verdict::tune, fmt::format("it takes {:.2f} times the time of another device class, which says nothing",
                                           ratio->median));
    case Standing::unclear:
      return as(Verdict::inconclusive, evidence.load.steady ? "its time straddles the tolerance"
                                                            : "the device was too unsteady to judge its time");
    case Standing::within:
    case Standing::unknown:
      break;
  }
  const auto compared = [&](const Rival& rival) { return rival.measured.known(); };
  const auto open = [&](const Rival& rival) {
    return rival.comparison && undecided(*rival.comparison, thresholds.tie_margin);
  };
  if (std::any_of(evidence.rivals.begin(), evidence.rivals.end(), open)) {
    return as(Verdict::inconclusive, "whether a rival is faster is unclear");
  }
  if (stands == Standing::within) return as(Verdict::accept, "it is within the tolerance and no rival beats it");
  if (std::none_of(evidence.rivals.begin(), evidence.rivals.end(), compared)) {
    return as(Verdict::tune, "there is neither a reported time nor a rival to judge it by");
  }
  return as(Verdict::accept, "no rival beats it");
}

Evidence gather(const workers::VerifyJob& job, const workers::Outcome& outcome, Source source,
                std::span<const storage::RecordedCandidate> recorded) {
  Evidence evidence;
  evidence.reported = job.reported;
  evidence.source = source;
  evidence.load = outcome.load;
  evidence.error = outcome.error;
  for (const workers::Trial& trial : outcome.trials) {
    const Timing measured = trial.status == TrialStatus::ok ? trial.timing : Timing{};
    if (trial.candidate == job.claimed) {
      evidence.measured = measured;
      continue;
    }
    Rival rival{trial.candidate, measured, {}, {}};
    for (const storage::RecordedCandidate& entry : recorded) {
      if (entry.candidate == trial.candidate && entry.timing.known()) rival.reported = entry.timing.median;
    }
    for (const workers::Comparison& comparison : outcome.comparisons) {
      if (comparison.challenger == trial.candidate) rival.comparison = comparison;
    }
    evidence.rivals.push_back(std::move(rival));
  }
  return evidence;
}

}  // namespace hone::engine
