// What all rules of learning share: splits, feature rows, and the parts of a model that come from the data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/learn/data_set.hpp"
#include "tools/learn/regression_tree.hpp"

namespace hone::tools::learn {

// Sets the split of every problem: 60 % train, 20 % validation, 20 % test, by a seeded hash of the recipe's group_by
// fields, so that problems which agree in these stay together.
void split_by_seed(DataSet& data, const Recipe& recipe, std::uint64_t seed);
bool has_splits(const DataSet& data);

// Places of the problems of a split.
std::vector<std::size_t> problems_of(const DataSet& data, Split split);

// One row of problem features for each problem named. Throws Error(invalid_option) naming the line and the feature
// where one is not a number.
Matrix problem_rows(const DataSet& data, const std::vector<learning::Feature>& features,
                    std::span<const std::size_t> problems);

// One row for each measurement of each problem named, in their order.
Matrix measurement_rows(const DataSet& data, const std::vector<learning::Feature>& features,
                        std::span<const std::size_t> problems);

// The model's description: variables, bounds and commonest winner from the problems named, candidates, features, data
// hash, environment class.
learning::Model describe(const DataSet& data, std::vector<learning::Feature> features,
                         std::span<const std::size_t> problems);

// log(time / best time), infinite for a failure and for what was not measured.
double log_regret(const DataSet& data, const MeasuredProblem& problem, std::uint32_t candidate) noexcept;

// Losing more than 5 %.
inline constexpr double log_of_5_percent = 0.048790164169432;
// Faster by less than 2 % is a tie.
inline constexpr double log_tie = 0.0198026272961797;

}  // namespace hone::tools::learn
