// Regression trees in double precision: CART with squared error (Breiman, Friedman, Olshen and Stone, Classification
// and Regression Trees, 1984).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/learning/tree.hpp"

namespace hone::tools::learn {

// Row-major numbers.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  Matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  double* row(std::size_t index) noexcept { return values.data() + index * columns; }
  const double* row(std::size_t index) const noexcept { return values.data() + index * columns; }
};

struct GrownNode {
  std::int32_t feature = learning::TreeNode::leaf;
  double threshold = 0;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t depth = 0;
  std::vector<double> means = {};  // of the targets of its rows
};

// A tree with the means of all nodes, so that it can be cut at any depth: splits do not depend on what is below them.
struct GrownTree {
  std::vector<GrownNode> nodes;  // the root first, children after their parent
};

struct GrowthLimits {
  std::uint32_t max_depth = UINT32_MAX;
  std::size_t min_samples_leaf = 1;  // rows
};

// Splits greedily where the squared error summed over all target columns falls most; of equal splits the one of the
// first feature with the lowest threshold. A threshold lies halfway between two values. No feature may be NaN.
GrownTree grow(const Matrix& features, const Matrix& targets, const GrowthLimits& limits);

// The tree down to the depth, its leaves numbered in the order of the nodes. means[i]: of leaf i.
struct CutTree {
  learning::Tree tree;
  std::vector<std::vector<double>> means;
};
CutTree cut(const GrownTree& grown, std::uint32_t max_depth);

}  // namespace hone::tools::learn
