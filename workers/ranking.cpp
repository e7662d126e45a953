#include "workers/ranking.hpp"

#include <algorithm>

#include "workers/race.hpp"

namespace hone::workers {
namespace {

// As many samples as a median needs at least.
constexpr std::size_t rounds = 5;

}  // namespace

std::optional<double> Ranking::add(Entrant& entrant) {
  while (best_) {
    const Entrant* opponent = best_;
    const auto score = compare_with_best(entrant);
    if (best_ == opponent || score) return score;
    // The best one failed: the next best is the opponent now.
  }
  return start_with(entrant);
}

std::optional<double> Ranking::start_with(Entrant& entrant) {
  std::vector<RaceEntry> alone(1);
  alone[0].contestant = &entrant.contestant;
  race(evaluation_.sampler(), alone, {.max_rounds = rounds});
  if (alone[0].failure) {
    evaluation_.fail(entrant, alone[0].failure);
    return {};
  }
  if (entrant.contestant.samples.empty()) return {};
  evaluation_.record(entrant, false);
  return keep(entrant, 1);
}

std::optional<double> Ranking::compare_with_best(Entrant& entrant) {
  const Screening screening = screen(evaluation_.sampler(), best_->contestant, entrant.contestant);
  if (screening.incumbent_failure) {
    drop_best(screening.incumbent_failure);
    return {};
  }
  if (screening.failure) {
    evaluation_.fail(entrant, screening.failure);
    return {};
  }
  evaluation_.record(entrant, screening.dropped);
  if (screening.dropped) {
    entrant.contestant.invoker = nullptr;  // compiled code that lost need not stay in memory
    return screening.ratio * best_score_;
  }
  std::vector<RaceEntry> entries(2);
  entries[0].contestant = &best_->contestant;
  entries[1].contestant = &entrant.contestant;
  race(evaluation_.sampler(), entries, {.tie_margin = tie_margin_, .max_rounds = rounds});
  if (entries[0].failure) {
    drop_best(entries[0].failure);
    return {};
  }
  if (entries[1].failure) {
    evaluation_.fail(entrant, entries[1].failure);
    return {};
  }
  if (entries[1].ratios.empty()) return {};
  evaluation_.record(entrant, false);
  return keep(entrant, compare(entries[0], entries[1], 0.5).ratio * best_score_);
}

std::optional<double> Ranking::keep(Entrant& entrant, double score) {
  scored_.push_back({&entrant, score});
  if (!best_ || score < best_score_ * (1 - tie_margin_)) {
    best_ = &entrant;
    best_score_ = score;
  }
  return score;
}

void Ranking::drop_best(const Failure& failure) {
  evaluation_.fail(*best_, failure);
  std::erase_if(scored_, [&](const Scored& scored) { return scored.entrant == best_; });
  best_ = nullptr;
  const auto next = std::min_element(scored_.begin(), scored_.end(),
                                     [](const Scored& a, const Scored& b) { return a.score < b.score; });
  if (next == scored_.end()) return;
  best_ = next->entrant;
  best_score_ = next->score;
}

std::vector<Entrant*> Ranking::fastest(std::size_t count, const Entrant* excluded) const {
  std::vector<Scored> scored = scored_;
  std::erase_if(scored, [&](const Scored& s) { return s.entrant == excluded; });
  std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
  std::vector<Entrant*> entrants;
  for (std::size_t i = 0; i < std::min(count, scored.size()); ++i) entrants.push_back(scored[i].entrant);
  return entrants;
}

}  // namespace hone::workers
