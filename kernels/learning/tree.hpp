// One decision tree on double features.
#pragma once

#include <cstdint>
#include <vector>

namespace hone::learning {

// A row goes left when row[feature] <= threshold; not-a-number goes right. The root is the first node, children come
// after their parent.
struct TreeNode {
  static constexpr std::int32_t leaf = -1;
  std::int32_t feature = leaf;
  double threshold = 0;
  std::uint32_t left = 0;  // of a leaf: its number, counted from 0
  std::uint32_t right = 0;

  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

using Tree = std::vector<TreeNode>;

// The number of the leaf that the row falls into. The tree must not be empty.
inline std::uint32_t leaf_of(const Tree& tree, const double* row) noexcept {
  const TreeNode* node = tree.data();
  while (node->feature != TreeNode::leaf) {
    node = &tree[row[node->feature] <= node->threshold ? node->left : node->right];
  }
  return node->left;
}

}  // namespace hone::learning
