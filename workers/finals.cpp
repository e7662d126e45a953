#include "workers/finals.hpp"

#include <algorithm>

namespace hone::workers {

bool run_finals(Evaluation& evaluation, Entrant* incumbent, std::vector<Entrant*> challengers, RaceRules rules,
                Outcome& outcome) {
  std::vector<Entrant*> entrants = std::move(challengers);
  if (incumbent) entrants.insert(entrants.begin(), incumbent);
  bool finished = true;
  LoadProbe probe(evaluation.measuring_device(), evaluation.idle_time());
  rules.probe = &probe;
  std::vector<RaceEntry> entries;
  while (!entrants.empty()) {
    entries.clear();
    for (Entrant* entrant : entrants) entries.push_back({.contestant = &entrant->contestant});
    finished = race(evaluation.sampler(), entries, rules);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].failure) {
        evaluation.fail(*entrants[i], entries[i].failure);
      } else if (!entrants[i]->contestant.samples.empty()) {
        evaluation.record(*entrants[i], false);
      }
    }
    if (!entries.front().failure) break;
    entrants.erase(entrants.begin());
    incumbent = nullptr;
  }
  if (incumbent && !entrants.empty()) outcome.load = probe.conclude();
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (entries[i].failure || entrants[i]->contestant.samples.empty()) continue;
    auto prepared = evaluation.prepared(*entrants[i]);
    if (!prepared) continue;
    outcome.prepared.push_back(*std::move(prepared));
    if (incumbent && i > 0) outcome.comparisons.push_back(compare(entries.front(), entries[i], rules.confidence));
  }
  std::sort(outcome.comparisons.begin(), outcome.comparisons.end(),
            [](const Comparison& a, const Comparison& b) { return a.ratio < b.ratio; });
  return finished;
}

}  // namespace hone::workers
