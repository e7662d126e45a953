// One tree that loses little time: its leaves are sure where validation data says that they may be.
#pragma once

#include "tools/learn/data_set.hpp"

namespace hone::tools::learn {

// Limits of the sure answers together, on validation data. They are set below what is promised (a geometric mean regret
// of 1.002 and 0.5 % that lose more than 5 %), because what is chosen on the validation data looks better there.
struct RegretLimits {
  double regret = 1.001;
  double over_5 = 0.001;
  double leaf_risk = 0.012;  // of each leaf alone: the chance of losing more than 5 %, smoothed
};

// Trees on the log of time over best time of each candidate, capped: beyond the cap a loss is a loss. Searches
// max_depth and min_samples_leaf for the largest share of validation problems with a sure answer within the limits.
// Throws Error(invalid_option) where a split is empty.
learning::Model learn_by_regret(const DataSet& data, const Recipe& recipe, const RegretLimits& limits = {});

}  // namespace hone::tools::learn
