// A hand-made model: of two candidates a and b for problems with a size; a is sure to be right up to 100.
#pragma once

#include "kernels/learning/model.hpp"

namespace hone::test {

inline learning::Model small_model() {
  learning::Model model;
  model.kind = learning::ModelKind::tree;
  model.operation = "doubling";
  model.environment_class = "test/scripted";
  model.rule = "regret";
  model.data_hash = "0123456789abcdef";
  model.quality = {100, 0.5, 1.001, 0.0};
  model.problem = {{"elements"}, {"accumulate"}};
  model.bounds = {{1, 1000}, {0, 1}};
  model.candidate = {{"solver", {"a", "b", "c"}}};
  model.features = {{"elements", "elements"}};
  for (const char* solver : {"a", "b", "c"}) {
    learning::ModelCandidate candidate{.name = solver};
    candidate.pick.solver = solver;
    candidate.pick.version = 1;
    candidate.values = {static_cast<double>(model.candidates.size())};
    model.candidates.push_back(candidate);
  }
  model.tree = {{0, 100, 1, 2}, {learning::TreeNode::leaf, 0, 0, 0}, {learning::TreeNode::leaf, 0, 1, 0}};
  model.leaves = {{{1}, true, 1.001, 0, 50}, {{2, 1}, false, 1.02, 0.1, 50}};
  return model;
}

}  // namespace hone::test
