#include "engine/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::engine {
namespace {

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

// On which side of the threshold the ratio lies: negative, positive, or 0 for unclear.
int side(const RatioInterval& ratio, double threshold, double precision) {
  if (ratio.high < threshold) return -1;
  if (ratio.low > threshold) return 1;
  if (ratio.high - ratio.low > precision * ratio.median) return 0;
  return ratio.median <= threshold ? -1 : 1;
}

Standing standing(const std::optional<RatioInterval>& ratio, const Evidence& evidence, const Thresholds& thresholds) {
  if (!ratio || evidence.source == Source::predicted) return Standing::unknown;
  if (!evidence.load.steady) return Standing::unclear;
  const double upper = 1 + thresholds.tolerance;
  const int above = side(*ratio, upper, thresholds.tie_margin);
  const int not_below = evidence.source == Source::foreign_device ? side(*ratio, 1 / upper, thresholds.tie_margin) : 1;
  if (above > 0) return Standing::above;
  if (not_below < 0) return Standing::below;
  return above == 0 || not_below == 0 ? Standing::unclear : Standing::within;
}

bool undecided(const workers::Comparison& comparison, double tie_margin) {
  return comparison.low < 1 - tie_margin && comparison.high >= 1 - tie_margin &&
         comparison.high - comparison.low > tie_margin;
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
  const Standing own = standing(ratio_to(rival.measured, rival.reported, evidence.load.slowdown), evidence, thresholds);
  const Standing promised =
      standing(ratio_to(rival.measured, evidence.reported, evidence.load.slowdown), evidence, thresholds);
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
  const auto ratio = ratio_to(evidence.measured, evidence.reported, evidence.load.slowdown);
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
  const Standing stands = standing(ratio, evidence, thresholds);
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
