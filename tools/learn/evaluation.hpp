// How good a model is on measured problems.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/learn/data_set.hpp"

namespace hone::tools::learn {

// Time lost against the best measured candidate.
struct Regret {
  double mean = 1;  // geometric
  double p95 = 1;
  double worst = 1;
  double over_5 = 0;  // share of problems that lose more than 5 %
};
Regret regret_of(std::vector<double> logarithms);

struct Evaluation {
  std::uint64_t problems = 0;
  std::uint64_t unranked = 0;   // problems where the model knows fewer than two candidates; the default answers
  double coverage = 0;          // share of problems with a sure answer
  double shortlisted = 0;       // with a shortlist
  double shortlist_length = 0;  // on average
  std::map<std::string, std::uint64_t> unsure;  // reason -> problems
  Regret sure;                                  // of the sure answers
  Regret answered;                              // sure answers, the default elsewhere
  Regret shortlists;                            // the best of the shortlist and the default
  Regret by_default, by_commonest, by_nearest;
  bool has_nearest = false;
  std::map<std::size_t, Regret> top;      // the best of the first k of the model's order
  std::map<std::size_t, Regret> guarded;  // the best of these and the default
};

// Judges the model on the problems named, with the best of its first k picks for each k. The range of the training data
// does not count for `top` and `guarded`: they show what the model's order is worth elsewhere. `training`: problems
// whose winners the nearest-neighbour rule may use; none: that rule is left out.
Evaluation evaluate(const learning::Model& model, const DataSet& data, const std::vector<std::size_t>& problems,
                    const std::vector<std::size_t>& ks, const DataSet* training = nullptr,
                    const std::vector<std::size_t>& training_problems = {});

}  // namespace hone::tools::learn
