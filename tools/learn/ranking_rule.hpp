// Ensembles over (problem, candidate) pairs, for operations with many candidates: they order candidates that they have
// never seen by their parameters, and give shortlists.
#pragma once

#include "tools/learn/boosting.hpp"
#include "tools/learn/data_set.hpp"

namespace hone::tools::learn {

struct RankingOptions {
  BoostingOptions boosting;
  double cap = 0.4;            // of the target log(time / best time): who is far behind need not be ordered
  double least_chance = 0.02;  // a shortlist ends where one more candidate wins less often
  std::uint32_t longest = 8;
};

// Trained on the training problems; the chances come from the validation problems. Throws Error(invalid_option) where
// a split is empty.
learning::Model learn_ranking(const DataSet& data, const Recipe& recipe, const RankingOptions& options = {});

// The same model with its ensemble trained on all problems that were not dropped: what is shipped after it was judged.
learning::Model retrain_on_all(const learning::Model& model, const DataSet& data, const RankingOptions& options = {});

// Chance that a candidate wins by more than a tie against all that were predicted better, from (gap, won) pairs: means
// of equally filled classes, made to fall by pooling neighbours (Ayer, Brunk, Ewing, Reid and Silverman 1955).
struct Attempt {
  double gap = 0;
  bool won = false;
};
std::vector<learning::ChanceStep> falling_chances(std::vector<Attempt> attempts, std::size_t classes = 40);

}  // namespace hone::tools::learn
