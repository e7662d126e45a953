// The sum of many trees on float features, in tables that generated code can hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::learning {

// A row goes to the node `left` of the same tree when row[feature] <= threshold, else to the one after it. A leaf goes
// to itself whatever the row, so that all rows take the same number of steps; its value stands in another table.
struct EnsembleNode {
  float threshold = 0;
  std::uint16_t feature = 0;
  std::uint16_t left = 0;

  friend bool operator==(const EnsembleNode&, const EnsembleNode&) = default;
};

struct EnsembleTree {
  std::uint32_t first = 0;  // node, in the table of all trees
  std::uint32_t depth = 0;  // steps to the deepest leaf

  friend bool operator==(const EnsembleTree&, const EnsembleTree&) = default;
};

struct EnsembleTables {
  std::span<const EnsembleTree> trees;
  std::span<const EnsembleNode> nodes;
  std::span<const float> values;  // one for each node, 0 for inner ones
  float base = 0;
};

// Sets scores[i] to the ensemble's value for the i-th of `count` rows of `features` values each. Goes tree by tree, so
// that a tree is in the cache for all rows and the rows' steps overlap. Allocates nothing.
void evaluate(const EnsembleTables& tables, const float* rows, std::size_t features, std::size_t count,
              float* scores) noexcept;

struct Ensemble {
  std::vector<EnsembleTree> trees;
  std::vector<EnsembleNode> nodes;
  std::vector<float> values;
  float base = 0;

  EnsembleTables tables() const noexcept { return {trees, nodes, values, base}; }
  friend bool operator==(const Ensemble&, const Ensemble&) = default;
};

}  // namespace hone::learning
