// Orders candidates while a search runs.
#pragma once

#include <optional>
#include <vector>

#include "workers/evaluation.hpp"

namespace hone::workers {

// Scores are times relative to the first candidate that worked. Each candidate is measured in turns with the best one
// of its moment, so that load and clocks cancel; that is cheap and rough, and the best few deserve a confirmation.
class Ranking {
 public:
  Ranking(Evaluation& evaluation, double tie_margin) : evaluation_(evaluation), tie_margin_(tie_margin) {}

  // The score of the entrant and its trial's timing; nothing when it failed or the job was cancelled. Throws what
  // Evaluation throws.
  std::optional<double> add(Entrant& entrant);
  // The candidate that beats all others by more than the tie margin or came before them; null when none works.
  const Entrant* best() const noexcept { return best_; }
  double best_score() const noexcept { return best_score_; }
  // At most `count` working entrants, fastest first, without `excluded` and without those that were screened.
  std::vector<Entrant*> fastest(std::size_t count, const Entrant* excluded) const;

 private:
  struct Scored {
    Entrant* entrant;
    double score;
  };
  std::optional<double> start_with(Entrant& entrant);
  std::optional<double> compare_with_best(Entrant& entrant);
  std::optional<double> keep(Entrant& entrant, double score);
  void drop_best(const Failure& failure);

  Evaluation& evaluation_;
  const double tie_margin_;
  std::vector<Scored> scored_;
  Entrant* best_ = nullptr;
  double best_score_ = 1;
};

}  // namespace hone::workers
