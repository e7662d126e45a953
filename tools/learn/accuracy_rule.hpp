// The rule of PyTorch's AutoHeuristic (pull request 128643): one regression tree scores each candidate, the highest
// score wins, and the model is sure where the best score exceeds the second by a factor that no wrong validation answer
// had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/learn/data_set.hpp"

namespace hone::tools::learn {

// Answers of one split. Wrong: another candidate was faster.
struct AccuracyRow {
  std::string split;
  std::uint64_t correct = 0;
  std::uint64_t wrong = 0;
  std::uint64_t unsure = 0;
  // Over the wrong answers: time of the answer over the best time. Nothing without one.
  std::optional<double> max_wrong_speedup;
  std::optional<double> mean_wrong_speedup;  // geometric
};

struct AccuracyResult {
  learning::Model model;
  std::optional<std::uint32_t> max_depth;  // none: no limit
  std::size_t min_samples_leaf = 0;
  std::vector<AccuracyRow> rows;  // train, val, test
};

// Searches max_depth 5, 10, 13, 15, 17, 20, 23, none and min_samples_leaf 1, 2, 5, 10 for the most correct answers on
// the validation problems. Throws Error(invalid_option) where the data has more than two candidates, or a split is
// empty.
AccuracyResult learn_by_accuracy(const DataSet& data, const Recipe& recipe);

}  // namespace hone::tools::learn
