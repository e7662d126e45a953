#include "kernels/learning/ensemble.hpp"

#include <algorithm>

namespace hone::learning {

void evaluate(const EnsembleTables& tables, const float* rows, std::size_t features, std::size_t count,
              float* scores) noexcept {
  constexpr std::size_t batch = 8;  // rows whose steps overlap
  std::fill_n(scores, count, tables.base);
  for (const EnsembleTree& tree : tables.trees) {
    const EnsembleNode* nodes = tables.nodes.data() + tree.first;
    const float* values = tables.values.data() + tree.first;
    std::size_t row = 0;
    for (; row + batch <= count; row += batch) {
      std::uint32_t at[batch] = {};
      const float* first = rows + row * features;
      for (std::uint32_t step = 0; step < tree.depth; ++step) {
        for (std::size_t i = 0; i < batch; ++i) {
          const EnsembleNode node = nodes[at[i]];
          at[i] = node.left + (first[i * features + node.feature] <= node.threshold ? 0U : 1U);
        }
      }
      for (std::size_t i = 0; i < batch; ++i) scores[row + i] += values[at[i]];
    }
    for (; row < count; ++row) {
      std::uint32_t at = 0;
      for (std::uint32_t step = 0; step < tree.depth; ++step) {
        const EnsembleNode node = nodes[at];
        at = node.left + (rows[row * features + node.feature] <= node.threshold ? 0U : 1U);
      }
      scores[row] += values[at];
    }
  }
}

}  // namespace hone::learning
