// Compares candidates in turns, so that load and clocks meet all of them alike.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "workers/device_load.hpp"
#include "workers/failure.hpp"
#include "workers/job.hpp"
#include "workers/sampling.hpp"

namespace hone::workers {

// When a race is decided. An interval is as good as decided once it is narrower than twice the tie margin.
struct RaceRules {
  // A challenger is decided when its ratio to the incumbent is surely below or surely above 1 - tie_margin.
  double tie_margin = 0.02;
  // The incumbent is decided when its time lies surely on one side of each of these, ns.
  std::vector<double> thresholds = {};
  // Of the interval at each look. With 101 rounds a race looks 8 times, so that all looks together err in less than 5
  // %.
  double confidence = 0.995;
  std::size_t max_rounds = 101;
  // Asked before each round; false ends the race.
  std::function<bool()> proceed = {};
  // Sampled in every round; the incumbent's thresholds are then judged by its corrected times. May be null.
  LoadProbe* probe = nullptr;
};

struct RaceEntry {
  Contestant* contestant = nullptr;
  std::vector<double> ratios = {};  // to the incumbent, one a round; empty for the incumbent itself
  Failure failure = {};
};

// `entries`: the incumbent first, then challengers, in any number. Forgets earlier samples, warms up, then runs rounds:
// in each one every entry that is not decided gives one sample, the incumbent always while a challenger is left; the
// order rotates with the round. A failing challenger leaves the race; the race ends with the incumbent. False when it
// was stopped by `proceed` before all was decided or max_rounds were run.
bool race(Sampler& sampler, std::span<RaceEntry> entries, const RaceRules& rules);

// The result of a challenger. The interval holds at the confidence of the rules; 0 to infinity with too few rounds.
Comparison compare(const RaceEntry& incumbent, const RaceEntry& challenger, double confidence);

// Two screening gates. `best` is the ratio to the incumbent of the best candidate known, 1 for the incumbent itself.
// The first gate: one sample each, dropped beyond 1.5 times the best; one more try for a challenger that is not three
// times as slow, since a busy device slows any single run. The second: three rounds, dropped when all of them are more
// than a tenth slower than the best.
struct Screening {
  double ratio = 0;  // median
  bool dropped = false;
  Failure failure = {};            // of the challenger
  Failure incumbent_failure = {};  // of the incumbent
};
Screening screen(Sampler& sampler, Contestant& incumbent, Contestant& challenger, double best = 1);

}  // namespace hone::workers
