// What is known of an operation before learning: which fields are categories, what keeps together, which derived
// features to offer.
#pragma once

#include <string>
#include <vector>

#include "kernels/learning/features.hpp"

namespace hone::tools::learn {

struct DataSet;

struct Recipe {
  std::string operation;
  std::vector<std::string> categories;  // problem fields whose numbers are names
  std::vector<std::string> group_by;    // problems that agree in these are never divided by a split; none: all numbers
  std::string default_candidate;        // what is taken when nothing is known; "": the first
  std::vector<learning::Feature> problem_features;
  std::vector<learning::Feature> candidate_features;
  // Problem fields and candidate variables with one feature a category: "type == 'f16'".
  std::vector<std::string> one_hot;
};

// The recipe of a known operation (gemm, pad_mm, mm, mixedmm); of another one: every field as it is.
Recipe recipe_for(const std::string& operation, const DataSet& data);

// Which problem fields are categories although their values look like numbers; known before the data.
std::vector<std::string> categorical_fields(const std::string& operation);
std::string default_candidate_of(const std::string& operation);

// All features of the recipe for the data, the one-hot ones written out.
std::vector<learning::Feature> features_of(const Recipe& recipe, const DataSet& data, bool with_candidates);

}  // namespace hone::tools::learn
