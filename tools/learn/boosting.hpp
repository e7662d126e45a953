// Gradient-boosted regression trees by XGBoost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/learning/ensemble.hpp"
#include "tools/learn/regression_tree.hpp"

namespace hone::tools::learn {

struct BoostingOptions {
  std::uint32_t trees = 150;
  std::uint32_t max_depth = 6;
  double learning_rate = 0.12;
  double min_child_weight = 5;
  double subsample = 0.8;  // of rows and of features, for each tree
  std::uint64_t seed = 1;
};

// Squared error. The same data, options and version of XGBoost give the same ensemble: it runs on one thread. Throws
// Error(invalid_option) with XGBoost's own words when it refuses.
learning::Ensemble boost(const Matrix& features, const std::vector<float>& targets, const BoostingOptions& options);

// A model in XGBoost's JSON as tables. Throws Error(invalid_model) when it is not one of regression trees.
learning::Ensemble from_xgboost(const std::string& json);

}  // namespace hone::tools::learn
