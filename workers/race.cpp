#include "workers/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "workers/order_statistics.hpp"

namespace hone::workers {
namespace {

// The numbers of rounds after which a race looks at its intervals: from the fewest that can give one, each 1.4 times as
// many as the last.
std::size_t next_look(std::size_t look, std::size_t max_rounds) {
  return std::min(max_rounds, static_cast<std::size_t>(std::ceil(1.4 * static_cast<double>(look))));
}

bool decided(std::span<const double> samples, double threshold, const RaceRules& rules) {
  const MedianInterval interval = median_interval(samples, rules.confidence);
  return interval.confidence >= rules.confidence &&
         side_of(threshold, interval.median, interval.low, interval.high, 2 * rules.tie_margin) != Side::unclear;
}

// Samples and ratios of one round. False when the incumbent failed.
bool run_round(Sampler& sampler, std::span<RaceEntry* const> running, std::size_t round, LoadProbe* probe) {
  const std::size_t probe_turn = round % 2 == 0 ? 0 : running.size();
  if (probe && probe_turn == 0) probe->sample(sampler);
  for (std::size_t i = 0; i < running.size(); ++i) {
    RaceEntry& entry = *running[(round + i) % running.size()];
    entry.failure = sampler.sample(*entry.contestant);
    if (entry.failure && &entry == running.front()) return false;
  }
  if (probe && probe_turn > 0) probe->sample(sampler);
  const double incumbent = running.front()->contestant->samples.back();
  if (probe) probe->pair(incumbent);
  for (RaceEntry* entry : running.subspan(1)) {
    if (!entry->failure) entry->ratios.push_back(entry->contestant->samples.back() / incumbent);
  }
  return true;
}

}  // namespace

bool race(Sampler& sampler, std::span<RaceEntry> entries, const RaceRules& rules) {
  RaceEntry& incumbent = entries.front();
  const auto may_go_on = [&] { return sampler.supervisor().proceed() && (!rules.proceed || rules.proceed()); };
  for (RaceEntry& entry : entries) entry.ratios.clear();
  for (RaceEntry& entry : entries) {
    if (!may_go_on()) return false;
    entry.failure = sampler.warm_up(*entry.contestant);
    if (incumbent.failure) return true;
  }
  if (rules.probe) rules.probe->start(sampler);
  std::vector<RaceEntry*> running;
  for (RaceEntry& entry : entries) {
    if (!entry.failure) running.push_back(&entry);
  }
  bool incumbent_open = true;
  std::size_t look = samples_for(rules.confidence);
  for (std::size_t round = 0; round < rules.max_rounds && (incumbent_open || running.size() > 1); ++round) {
    if (!may_go_on()) return false;
    // Not before: a race that is called off in its warm-up must not take away what was known.
    if (round == 0) {
      for (RaceEntry* entry : running) entry->contestant->samples.clear();
    }
    if (!run_round(sampler, running, round, rules.probe)) return true;
    std::erase_if(running, [](const RaceEntry* entry) { return static_cast<bool>(entry->failure); });
    if (round + 1 != look) continue;
    look = next_look(look, rules.max_rounds);
    const std::vector<double>& times =
        rules.probe && rules.probe->corrects() ? rules.probe->corrected() : incumbent.contestant->samples;
    incumbent_open = std::any_of(rules.thresholds.begin(), rules.thresholds.end(),
                                 [&](double threshold) { return !decided(times, threshold, rules); });
    std::erase_if(running, [&](const RaceEntry* entry) {
      return entry != &incumbent && decided(entry->ratios, 1 - rules.tie_margin, rules);
    });
  }
  return true;
}

Comparison compare(const RaceEntry& incumbent, const RaceEntry& challenger, double confidence) {
  const MedianInterval interval = median_interval(challenger.ratios, confidence);
  Comparison comparison{challenger.contestant->candidate,
                        timing_of(incumbent.contestant->samples),
                        timing_of(challenger.contestant->samples),
                        1,
                        0,
                        std::numeric_limits<double>::infinity()};
  if (!challenger.ratios.empty()) comparison.ratio = interval.median;
  if (interval.confidence >= confidence) {
    comparison.low = interval.low;
    comparison.high = interval.high;
  }
  return comparison;
}

Screening screen(Sampler& sampler, Contestant& incumbent, Contestant& challenger, double best) {
  Screening screening;
  std::vector<double> ratios;
  const auto round = [&] {
    screening.incumbent_failure = sampler.sample(incumbent);
    if (screening.incumbent_failure) return false;
    screening.failure = sampler.sample(challenger);
    if (screening.failure) return false;
    ratios.push_back(challenger.samples.back() / incumbent.samples.back());
    return true;
  };
  const auto conclude = [&](bool dropped) {
    screening.ratio = median_interval(ratios, 0.5).median;
    screening.dropped = dropped;
    return screening;
  };
  const double hopeless = 3 * best;
  const double gate = 1.5 * best;
  const double slower = 1.1 * best;
  if (!round()) return screening;
  if (ratios[0] > gate) {
    if (ratios[0] > hopeless) return conclude(true);
    if (!round()) return screening;
    if (ratios[1] > gate) return conclude(true);
  }
  while (ratios.size() < 3) {
    if (!round()) return screening;
  }
  return conclude(std::all_of(ratios.begin(), ratios.end(), [&](double ratio) { return ratio > slower; }));
}

}  // namespace hone::workers
