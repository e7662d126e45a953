#include "tools/learn/regression_tree.hpp"

#include <algorithm>
#include <numeric>

namespace hone::tools::learn {
namespace {

using learning::TreeNode;

class Growing {
 public:
  Growing(const Matrix& features, const Matrix& targets, const GrowthLimits& limits)
      : features_(features), targets_(targets), limits_(limits), goes_left_(features.rows) {
    order_.resize(features.columns);
    for (std::size_t feature = 0; feature < features.columns; ++feature) {
      std::vector<std::uint32_t>& order = order_[feature];
      order.resize(features.rows);
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return features.row(a)[feature] < features.row(b)[feature];
      });
    }
  }

  GrownTree run() {
    struct Range {
      std::size_t begin, end;
    };
    std::vector<Range> ranges{{0, features_.rows}};
    tree_.nodes.push_back({.means = means_of(0, features_.rows)});
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      const Range range = ranges[i];
      const std::uint32_t depth = tree_.nodes[i].depth;
      if (depth >= limits_.max_depth) continue;
      const Split split = best_split(range.begin, range.end);
      if (split.feature == TreeNode::leaf) continue;
      const std::size_t middle = divide(range.begin, range.end, split);
      tree_.nodes[i].feature = split.feature;
      tree_.nodes[i].threshold = split.threshold;
      tree_.nodes[i].left = static_cast<std::uint32_t>(tree_.nodes.size());
      tree_.nodes[i].right = tree_.nodes[i].left + 1;
      tree_.nodes.push_back({.depth = depth + 1, .means = means_of(range.begin, middle)});
      tree_.nodes.push_back({.depth = depth + 1, .means = means_of(middle, range.end)});
      ranges.push_back({range.begin, middle});
      ranges.push_back({middle, range.end});
    }
    return std::move(tree_);
  }

 private:
  struct Split {
    std::int32_t feature = TreeNode::leaf;
    double threshold = 0;
    double gain = 0;
  };

  std::vector<double> means_of(std::size_t begin, std::size_t end) const {
    std::vector<double> sums(targets_.columns);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t t = 0; t < sums.size(); ++t) sums[t] += targets_.row(order_[0][i])[t];
    }
    for (double& sum : sums) sum /= static_cast<double>(end - begin);
    return sums;
  }

  // Targets are taken relative to the node's mean: then the gain of a split is the sum over both sides of
  // (sum of targets)^2 / rows, without cancellation.
  Split best_split(std::size_t begin, std::size_t end) const {
    Split best;
    const std::size_t count = end - begin;
    if (count < 2 * limits_.min_samples_leaf || count < 2) return best;
    const std::vector<double> means = means_of(begin, end);
    double error = 0;
    std::vector<double> centred(count * means.size());
    std::vector<std::size_t>& place = place_;
    place.resize(features_.rows);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t row = order_[0][begin + i];
      place[row] = i;
      for (std::size_t t = 0; t < means.size(); ++t) {
        const double value = targets_.row(row)[t] - means[t];
        centred[i * means.size() + t] = value;
        error += value * value;
      }
    }
    best.gain = 1e-12 * error;
    if (error <= 1e-18 * static_cast<double>(count)) return best;
    std::vector<double> left(means.size());
    for (std::size_t feature = 0; feature < features_.columns; ++feature) {
      const std::vector<std::uint32_t>& order = order_[feature];
      std::fill(left.begin(), left.end(), 0.0);
      for (std::size_t i = begin; i + limits_.min_samples_leaf < end; ++i) {
        const double* row = centred.data() + place[order[i]] * means.size();
        for (std::size_t t = 0; t < left.size(); ++t) left[t] += row[t];
        const auto rows_left = static_cast<double>(i - begin + 1);
        if (i - begin + 1 < limits_.min_samples_leaf) continue;
        const double here = features_.row(order[i])[feature];
        const double next = features_.row(order[i + 1])[feature];
        if (!(here < next)) continue;
        double squares = 0;
        for (const double sum : left) squares += sum * sum;
        const auto rows_right = static_cast<double>(end - i - 1);
        const double gain = squares / rows_left + squares / rows_right;
        if (gain <= best.gain) continue;
        const double halfway = here + (next - here) / 2;
        best = {static_cast<std::int32_t>(feature), halfway < next ? halfway : here, gain};
      }
    }
    return best;
  }

  std::size_t divide(std::size_t begin, std::size_t end, const Split& split) {
    const auto feature = static_cast<std::size_t>(split.feature);
    std::size_t left = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t row = order_[0][i];
      goes_left_[row] = features_.row(row)[feature] <= split.threshold ? 1 : 0;
      left += goes_left_[row];
    }
    for (std::vector<std::uint32_t>& order : order_) {
      std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(begin),
                            order.begin() + static_cast<std::ptrdiff_t>(end),
                            [&](std::uint32_t row) { return goes_left_[row] != 0; });
    }
    return begin + left;
  }

  const Matrix& features_;
  const Matrix& targets_;
  const GrowthLimits limits_;
  std::vector<std::vector<std::uint32_t>> order_;  // of each feature: the rows by its value, node by node
  std::vector<std::uint8_t> goes_left_;
  mutable std::vector<std::size_t> place_;
  GrownTree tree_;
};

}  // namespace

GrownTree grow(const Matrix& features, const Matrix& targets, const GrowthLimits& limits) {
  return Growing(features, targets, limits).run();
}

CutTree cut(const GrownTree& grown, std::uint32_t max_depth) {
  CutTree result;
  std::vector<std::uint32_t> place(grown.nodes.size(), UINT32_MAX);
  for (std::size_t i = 0; i < grown.nodes.size(); ++i) {
    if (grown.nodes[i].depth > max_depth) continue;
    place[i] = static_cast<std::uint32_t>(result.tree.size());
    result.tree.push_back({});
  }
  for (std::size_t i = 0; i < grown.nodes.size(); ++i) {
    if (place[i] == UINT32_MAX) continue;
    const GrownNode& node = grown.nodes[i];
    if (node.feature != TreeNode::leaf && node.depth < max_depth) {
      result.tree[place[i]] = {node.feature, node.threshold, place[node.left], place[node.right]};
    } else {
      result.tree[place[i]] = {TreeNode::leaf, 0, static_cast<std::uint32_t>(result.means.size()), 0};
      result.means.push_back(node.means);
    }
  }
  return result;
}

}  // namespace hone::tools::learn
