#include "engine/verdict.hpp"

#include <gtest/gtest.h>

#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <limits>
#include <ostream>

namespace hone {

void PrintTo(Verdict verdict, std::ostream* out) { *out << symbols(verdict)[static_cast<std::size_t>(verdict)]; }

namespace engine {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr Thresholds thresholds{.tolerance = 0.15, .tie_margin = 0.02};

Timing timing(double median, double spread = 0.002) {
  return {Duration(median), Duration(median * (1 - spread)), Duration(median * (1 + spread)), 11};
}

workers::Comparison comparison(const char* challenger, double ratio, double spread = 0.002) {
  return {{challenger, 1, ""}, timing(100), timing(100 * ratio), ratio, ratio * (1 - spread), ratio * (1 + spread)};
}

// A rival that was compared with the claimed candidate; `recorded` 0: the record does not name it.
Rival rival(const char* name, double measured, double ratio, double recorded = 0, double spread = 0.002) {
  Rival result{{name, 1, ""}, timing(measured), {}, comparison(name, ratio, spread)};
  if (recorded > 0) result.reported = Duration(recorded);
  return result;
}

Rival failed_rival(const char* name) { return {{name, 1, ""}, {}, Duration(100), {}}; }
Rival dropped_rival(const char* name) { return {{name, 1, ""}, timing(300), Duration(290), {}}; }

struct Case {
  const char* name;
  Evidence evidence;
  Verdict expected;
  const char* upgrade = "";
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Source here = Source::same_device;
const Source foreign = Source::foreign_device;
const Source predicted = Source::predicted;
const workers::Load idle{};
const workers::Load twice{2.0, true};
const workers::Load boosted{0.8, true};
const workers::Load unsteady{1.0, false};
const workers::Load untrusted{2.0, true, false};

const Case cases[] = {
    // A claim on the same device, no rivals.
    {"AsReported", {timing(100), Duration(100), here, {}, idle, {}}, Verdict::accept},
    {"JustWithinTolerance", {timing(114), Duration(100), here, {}, idle, {}}, Verdict::accept},
    {"JustBeyondTolerance", {timing(116), Duration(100), here, {}, idle, {}}, Verdict::tune},
    {"FarSlower", {timing(200), Duration(100), here, {}, idle, {}}, Verdict::tune},
    {"FasterHere", {timing(50), Duration(100), here, {}, idle, {}}, Verdict::accept},
    {"WideIntervalStraddlesFromBelow", {timing(110, 0.1), Duration(100), here, {}, idle, {}}, Verdict::inconclusive},
    {"WideIntervalStraddlesFromAbove", {timing(120, 0.1), Duration(100), here, {}, idle, {}}, Verdict::inconclusive},
    {"WideIntervalOnOneSide", {timing(100, 0.1), Duration(100), here, {}, idle, {}}, Verdict::accept},
    {"NarrowIntervalStraddlesMedianBelow", {timing(114.5, 0.008), Duration(100), here, {}, idle, {}}, Verdict::accept},
    {"NarrowIntervalStraddlesMedianAbove", {timing(115.5, 0.008), Duration(100), here, {}, idle, {}}, Verdict::tune},

    // Load.
    {"SlowOnlyUnderLoad", {timing(200), Duration(100), here, {}, twice, {}}, Verdict::accept},
    {"SlowEvenForTheLoad", {timing(260), Duration(100), here, {}, twice, {}}, Verdict::tune},
    {"SlownessHiddenByClockBoost", {timing(105), Duration(100), here, {}, boosted, {}}, Verdict::tune},
    {"UntrustedCorrectionAgrees", {timing(100), Duration(100), here, {}, untrusted, {}}, Verdict::accept},
    {"UntrustedCorrectionAgreesOnSlow", {timing(300), Duration(100), here, {}, untrusted, {}}, Verdict::tune},
    {"UntrustedCorrectionCastsDoubt", {timing(200), Duration(100), here, {}, untrusted, {}}, Verdict::inconclusive},
    {"CorrectedSampleBySample",
     {timing(200, 0.3), Duration(100), here, {}, {2.0, true, true, timing(100)}, {}},
     Verdict::accept},
    {"SlowSampleBySample",
     {timing(200, 0.3), Duration(100), here, {}, {2.0, true, true, timing(130)}, {}},
     Verdict::tune},
    {"UnsteadyWhenSlow", {timing(200), Duration(100), here, {}, unsteady, {}}, Verdict::inconclusive},
    {"UnsteadyWhenFast", {timing(100), Duration(100), here, {}, unsteady, {}}, Verdict::inconclusive},
    {"UnsteadyDoesNotMatterWithoutReportedTime",
     {timing(100), {}, here, {rival("b", 110, 1.1)}, unsteady, {}},
     Verdict::accept},
    {"UnsteadyDoesNotHinderAnUpgrade",
     {timing(100), Duration(100), here, {rival("b", 80, 0.8, 80)}, unsteady, {}},
     Verdict::inconclusive,
     "b"},

    // No usable reported time.
    {"NoReportedTimeNoRival", {timing(100), {}, here, {}, idle, {}}, Verdict::tune},
    {"ZeroReportedTimeNoRival", {timing(100), Duration(0), here, {}, idle, {}}, Verdict::tune},
    {"ZeroReportedTimeBesideSlowerRival",
     {timing(100), Duration(0), here, {rival("b", 120, 1.2)}, idle, {}},
     Verdict::accept},
    {"ZeroReportedTimeBesideDroppedRival",
     {timing(100), Duration(0), here, {dropped_rival("b")}, idle, {}},
     Verdict::accept},
    {"ZeroReportedTimeBesideFailedRival",
     {timing(100), Duration(0), here, {failed_rival("b")}, idle, {}},
     Verdict::tune},
    {"ZeroReportedTimeBesideFasterRival",
     {timing(100), Duration(0), here, {rival("b", 80, 0.8)}, idle, {}},
     Verdict::re_rank,
     "b"},
    {"NegativeReportedTime", {timing(100), Duration(-5), here, {rival("b", 120, 1.2)}, idle, {}}, Verdict::accept},
    {"ReportedTimeIsNotANumber", {timing(100), Duration(not_a_number), here, {}, idle, {}}, Verdict::tune},
    {"ReportedTimeIsInfinite", {timing(100), Duration(infinity), here, {}, idle, {}}, Verdict::tune},

    // A foreign device: faster than reported proves nothing.
    {"ForeignAsReported", {timing(100), Duration(100), foreign, {}, idle, {}}, Verdict::accept},
    {"ForeignSlower", {timing(130), Duration(100), foreign, {}, idle, {}}, Verdict::tune},
    {"ForeignSuspiciouslyFast", {timing(60), Duration(100), foreign, {}, idle, {}}, Verdict::tune},
    {"ForeignSuspiciouslyFastBesideSlowerRival",
     {timing(60), Duration(100), foreign, {rival("b", 90, 1.5, 150)}, idle, {}},
     Verdict::tune},
    {"ForeignWideIntervalStraddlesLowerThreshold",
     {timing(87, 0.05), Duration(100), foreign, {}, idle, {}},
     Verdict::inconclusive},
    {"ForeignSuspiciouslyFastRivalWins",
     {timing(60), Duration(100), foreign, {rival("b", 50, 0.83, 110)}, idle, {}},
     Verdict::tune,
     "b"},

    // A predicted time is judged against rivals only.
    {"PredictedFarOff", {timing(500), Duration(100), predicted, {rival("b", 600, 1.2)}, idle, {}}, Verdict::accept},
    {"PredictedAndBeaten",
     {timing(500), Duration(100), predicted, {rival("b", 300, 0.6)}, idle, {}},
     Verdict::re_rank,
     "b"},
    {"PredictedWithoutRivals", {timing(100), Duration(100), predicted, {}, idle, {}}, Verdict::tune},
    {"PredictedUnderUnsteadyLoad",
     {timing(100), Duration(100), predicted, {rival("b", 120, 1.2)}, unsteady, {}},
     Verdict::accept},

    // Rivals.
    {"RivalTies", {timing(100), Duration(100), here, {rival("b", 100, 1.0, 110)}, idle, {}}, Verdict::accept},
    {"RivalBetterWithinTieMargin",
     {timing(100), Duration(100), here, {rival("b", 98.5, 0.985, 110)}, idle, {}},
     Verdict::accept},
    {"RivalUnclearButPrecise",
     {timing(100), Duration(100), here, {rival("b", 98, 0.98, 110, 0.005)}, idle, {}},
     Verdict::accept},
    {"RivalUnclear",
     {timing(100), Duration(100), here, {rival("b", 97, 0.97, 110, 0.03)}, idle, {}},
     Verdict::inconclusive},
    {"RivalWithTooFewSamples",
     {timing(100),
      Duration(100),
      here,
      {{{"b", 1, ""}, timing(80), {}, workers::Comparison{{"b", 1, ""}, timing(100), timing(80), 0.8, 0, infinity}}},
      idle,
      {}},
     Verdict::inconclusive},
    {"RivalWins", {timing(100), Duration(100), here, {rival("b", 90, 0.9, 95)}, idle, {}}, Verdict::re_rank, "b"},
    {"BestRivalWins",
     {timing(100),
      Duration(100),
      here,
      {rival("b", 90, 0.9, 95), rival("c", 80, 0.8, 96), failed_rival("d")},
      idle,
      {}},
     Verdict::re_rank,
     "c"},
    {"RivalWinsOverASlowClaim",
     {timing(200), Duration(100), here, {rival("b", 110, 0.55, 108)}, idle, {}},
     Verdict::re_rank,
     "b"},
    {"RivalWinsAsFastAsPromisedForTheBest",
     {timing(200), Duration(100), here, {rival("b", 110, 0.55, 50)}, idle, {}},
     Verdict::re_rank,
     "b"},
    {"RivalWinsButIsSlowItself",
     {timing(300), Duration(100), here, {rival("b", 250, 0.83, 120)}, idle, {}},
     Verdict::tune,
     "b"},
    {"RivalWinsUnderLoad",
     {timing(400), Duration(100), here, {rival("b", 220, 0.55, 105)}, twice, {}},
     Verdict::re_rank,
     "b"},
    {"UnrecordedRivalWins", {timing(200), Duration(100), here, {rival("b", 150, 0.75)}, idle, {}}, Verdict::tune, "b"},
    {"SlowClaimIsTunedAlthoughARivalIsUnclear",
     {timing(200), Duration(100), here, {rival("b", 195, 0.97, 110, 0.03)}, idle, {}},
     Verdict::tune},

    // Failures.
    {"ClaimFailedRivalWorks",
     {{}, Duration(100), here, {{{"b", 1, ""}, timing(110), Duration(108), {}}}, idle, {}},
     Verdict::re_rank,
     "b"},
    {"ClaimFailedFastestRivalWorks",
     {{},
      Duration(100),
      here,
      {{{"b", 1, ""}, timing(120), Duration(120), {}}, {{"c", 1, ""}, timing(110), Duration(111), {}}},
      idle,
      {}},
     Verdict::re_rank,
     "c"},
    {"ClaimFailedRivalIsSlow",
     {{}, Duration(100), here, {{{"b", 1, ""}, timing(400), Duration(108), {}}}, idle, {}},
     Verdict::tune,
     "b"},
    {"ClaimFailedUnknownRivalTimes",
     {{}, {}, here, {{{"b", 1, ""}, timing(400), {}, {}}}, idle, {}},
     Verdict::re_rank,
     "b"},
    {"EverythingFailed", {{}, Duration(100), here, {failed_rival("b")}, idle, {}}, Verdict::tune},
    {"NothingAtAll", {{}, {}, here, {}, idle, {}}, Verdict::tune},
    {"NoMemory", {timing(100), Duration(100), here, {}, idle, make_error_code(Errc::out_of_memory)}, Verdict::failed},
};

class VerdictTable : public testing::TestWithParam<Case> {};

TEST_P(VerdictTable, Concludes) {
  const Case& c = GetParam();
  const Conclusion conclusion = verdict(c.evidence, thresholds);
  EXPECT_EQ(conclusion.verdict, c.expected) << conclusion.cause;
  EXPECT_EQ(conclusion.upgrade ? conclusion.upgrade->solver : "", c.upgrade);
  EXPECT_FALSE(conclusion.cause.empty());
}

INSTANTIATE_TEST_SUITE_P(Verdict, VerdictTable, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case>& row) { return std::string(row.param.name); });

TEST(Conclusion, StatesTheRatioCorrectedForLoad) {
  EXPECT_DOUBLE_EQ(verdict({timing(150), Duration(100), here, {}, twice, {}}, thresholds).ratio, 0.75);
  EXPECT_EQ(verdict({timing(150), Duration(100), predicted, {}, idle, {}}, thresholds).ratio, 0);
  EXPECT_EQ(verdict({timing(150), {}, here, {}, idle, {}}, thresholds).ratio, 0);
}

// Whatever the evidence: an upgrade is a rival that beat the claimed candidate, or one that works where that failed.
TEST(Conclusion, UpgradesOnlyToARivalThatWon) {
  for (const Source source : {here, foreign, predicted}) {
    for (const workers::Load load : {idle, twice, unsteady}) {
      for (const double measured : {0.0, 50.0, 100.0, 114.9, 130.0, 500.0}) {
        for (const double reported : {0.0, 100.0}) {
          for (const double ratio : {0.5, 0.9, 0.979, 0.985, 1.0, 2.0}) {
            for (const double spread : {0.001, 0.05}) {
              const Evidence evidence{timing(measured),
                                      Duration(reported),
                                      source,
                                      {rival("b", 100 * ratio, ratio, 100, spread)},
                                      load,
                                      {}};
              const Conclusion conclusion = verdict(evidence, thresholds);
              const bool won = better(*evidence.rivals[0].comparison, thresholds.tie_margin);
              EXPECT_EQ(conclusion.upgrade.has_value(), measured == 0 || won);
              EXPECT_TRUE(conclusion.verdict != Verdict::re_rank || conclusion.upgrade);
              EXPECT_FALSE(conclusion.verdict == Verdict::accept && conclusion.upgrade);
            }
          }
        }
      }
    }
  }
}

TEST(Better, NeedsTheWholeIntervalBeyondTheMargin) {
  EXPECT_TRUE(better(comparison("b", 0.9), 0.02));
  EXPECT_FALSE(better(comparison("b", 0.9, 0.1), 0.02));
  EXPECT_FALSE(better(comparison("b", 0.985), 0.02));
  EXPECT_FALSE(better(comparison("b", 1.0), 0));
  EXPECT_TRUE(better(comparison("b", 0.98), 0));
  EXPECT_FALSE(better({{"b", 1, ""}, timing(1), timing(1), 0.5, 0, infinity}, 0.02));
  EXPECT_FALSE(better({{"b", 1, ""}, timing(1), timing(1), not_a_number, not_a_number, not_a_number}, 0.02));
  EXPECT_FALSE(better({{"b", 1, ""}, {}, {}, 0, 0, 0}, 0.02));
}

TEST(Gather, JoinsTrialsComparisonsAndRecordedTimes) {
  workers::VerifyJob job{
      .subject = {.problem = Problem(problem_type<gemm::Problem>(), {}), .operation = nullptr, .quarantined = {}},
      .claimed = {"a", 1, ""},
      .reported = Duration(100),
      .rivals = {{"b", 1, ""}, {"c", 1, ""}, {"d", 1, ""}}};
  workers::Outcome outcome;
  outcome.trials = {{{"a", 1, ""}, TrialStatus::ok, timing(104), false, 0, ""},
                    {{"b", 1, ""}, TrialStatus::ok, timing(90), false, 0, ""},
                    {{"c", 1, ""}, TrialStatus::wrong_result, timing(10), false, 0, "wrong"},
                    {{"d", 1, ""}, TrialStatus::ok, timing(300), true, 0, ""}};
  outcome.comparisons = {comparison("b", 0.87)};
  outcome.load = twice;
  const std::vector<storage::RecordedCandidate> recorded = {{{"b", 1, ""}, timing(95), 0}, {{"d", 1, ""}, Timing{}, 0}};
  const Evidence evidence = gather(job, outcome, foreign, recorded);
  EXPECT_EQ(evidence.measured, timing(104));
  EXPECT_EQ(evidence.reported, Duration(100));
  EXPECT_EQ(evidence.source, foreign);
  EXPECT_EQ(evidence.load.slowdown, 2);
  ASSERT_EQ(evidence.rivals.size(), 3u);
  EXPECT_EQ(evidence.rivals[0].reported, Duration(95));
  ASSERT_TRUE(evidence.rivals[0].comparison);
  EXPECT_EQ(evidence.rivals[0].comparison->ratio, 0.87);
  EXPECT_FALSE(evidence.rivals[1].measured.known());
  EXPECT_FALSE(evidence.rivals[2].reported);
  EXPECT_FALSE(evidence.rivals[2].comparison);
}

}  // namespace
}  // namespace engine
}  // namespace hone
