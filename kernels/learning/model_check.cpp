// Whether a model's parts fit together: nothing read from a file is used before this.
#include <fmt/format.h>

#include <cmath>
#include <hone/error.hpp>

#include "kernels/learning/model.hpp"

namespace hone::learning {
namespace {

void demand(bool holds, std::string_view what) {
  if (!holds) throw Error(Errc::invalid_model, fmt::format("the model is not consistent: {}", what));
}

void check_tree(const Model& model, std::size_t leaves) {
  const std::size_t nodes = model.tree.size();
  demand(nodes > 0, "its tree is empty");
  for (std::size_t i = 0; i < nodes; ++i) {
    const TreeNode& node = model.tree[i];
    if (node.feature == TreeNode::leaf) {
      demand(node.left < leaves, "a leaf of the tree has no entry");
      continue;
    }
    demand(node.feature >= 0 && static_cast<std::size_t>(node.feature) < model.features.size(),
           "a node of the tree names an unknown feature");
    demand(node.left > i && node.left < nodes && node.right > i && node.right < nodes,
           "a child in the tree does not come after its parent");
    demand(!std::isnan(node.threshold), "a threshold of the tree is not a number");
  }
}

void check_ensemble(const Model& model) {
  const Ensemble& ensemble = model.ensemble;
  demand(!ensemble.trees.empty(), "its ensemble has no trees");
  demand(ensemble.values.size() == ensemble.nodes.size(), "the ensemble's tables differ in length");
  demand(std::isfinite(ensemble.base), "the ensemble's base is not finite");
  for (std::size_t t = 0; t < ensemble.trees.size(); ++t) {
    const std::size_t first = ensemble.trees[t].first;
    const std::size_t end = t + 1 < ensemble.trees.size() ? ensemble.trees[t + 1].first : ensemble.nodes.size();
    demand(first < end && end <= ensemble.nodes.size(), "a tree of the ensemble is empty");
    demand(ensemble.trees[t].depth <= 64, "a tree of the ensemble is too deep");
    for (std::size_t i = first; i < end; ++i) {
      const EnsembleNode& node = ensemble.nodes[i];
      demand(node.feature < model.features.size(), "a node of the ensemble names an unknown feature");
      demand(std::isfinite(ensemble.values[i]), "a value of the ensemble is not finite");
      const std::size_t left = first + node.left;
      if (left == i) {
        demand(std::isinf(node.threshold) && node.threshold > 0, "a leaf of the ensemble does not stay where it is");
      } else {
        demand(left > i && left + 1 < end, "a child in the ensemble does not come after its parent");
      }
    }
  }
  double gap = -1;
  for (const ChanceStep& step : model.chances) {
    demand(step.gap > gap, "the steps of the chance are not in order");
    demand(step.chance >= 0 && step.chance <= 1, "a chance is not between 0 and 1");
    gap = step.gap;
  }
}

}  // namespace

void check(const Model& model) {
  demand(!model.operation.empty(), "it names no operation");
  demand(model.bounds.size() == model.problem.size(), "there is not one bound for each variable");
  demand(!model.features.empty(), "it has no features");
  demand(model.candidates.size() >= 2, "it has fewer than two candidates");
  demand(model.candidates.size() <= 65535, "it has too many candidates");
  demand(model.default_candidate < model.candidates.size(), "its default is not among its candidates");
  demand(model.commonest < model.candidates.size(), "its commonest winner is not among its candidates");
  for (const ModelCandidate& candidate : model.candidates) {
    demand(candidate.values.size() == model.candidate.size(), "a candidate has not one value for each variable");
  }
  for (const Bound& bound : model.bounds) demand(bound.low <= bound.high, "a bound is empty");
  if (model.kind == ModelKind::ensemble) {
    if (model.compiled_tables == nullptr) check_ensemble(model);
    demand(model.longest >= 1, "its shortlists are empty");
    return;
  }
  const std::size_t leaves = model.kind == ModelKind::tree ? model.leaves.size() : model.scores.size();
  if (model.compiled_leaf == nullptr) check_tree(model, leaves);
  for (const Leaf& leaf : model.leaves) {
    demand(!leaf.order.empty(), "a leaf names no candidate");
    for (const std::uint16_t candidate : leaf.order) {
      demand(candidate < model.candidates.size(), "a leaf names an unknown candidate");
    }
  }
  for (const double score : model.scores) demand(std::isfinite(score) && score > 0, "a score is not positive");
  demand(model.kind != ModelKind::scored_tree || model.threshold >= 0, "its threshold is negative");
}

}  // namespace hone::learning
