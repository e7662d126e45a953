// Asking learned heuristics: a generated tree, and a shortlist of 30 candidates by an ensemble.
#include <benchmark/benchmark.h>

#include <random>

#include "ensemble.hpp"
#include "kernels/learning/model.hpp"
#include "tree.hpp"

namespace {

using namespace hone;

// Problems of the sample that the heuristics are generated from, all in its range.
std::vector<std::vector<double>> problems() {
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> result;
  for (int i = 0; i < 1024; ++i) {
    const auto size = [&] { return static_cast<double>(16 + random() % 900); };
    result.push_back({size(), size(), static_cast<double>(random() % 2)});
  }
  return result;
}

void generated_tree(benchmark::State& state) {
  const auto all = problems();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(generated::tree::sure_candidate(all[i++ % all.size()].data()));
}
BENCHMARK(generated_tree);

// 150 trees of depth 6 over 30 candidates, as for operations with many candidates.
learning::Model large_model() {
  learning::Model model = generated::ensemble::model();
  model.compiled_tables = nullptr;
  std::mt19937_64 random(2);
  const auto features = static_cast<std::uint16_t>(model.features.size());
  const float always = std::numeric_limits<float>::infinity();
  for (int tree = 0; tree < 150; ++tree) {
    model.ensemble.trees.push_back({static_cast<std::uint32_t>(model.ensemble.nodes.size()), 6});
    for (std::uint16_t node = 0; node < 127; ++node) {
      const bool leaf = node >= 63;
      model.ensemble.nodes.push_back({leaf ? always : static_cast<float>(random() % 1000),
                                      static_cast<std::uint16_t>(leaf ? 0 : random() % features),
                                      static_cast<std::uint16_t>(leaf ? node : 2 * node + 1)});
      model.ensemble.values.push_back(leaf ? static_cast<float>(random() % 1000) / 1e4F : 0);
    }
  }
  return model;
}

void shortlist_of_30(benchmark::State& state) {
  const learning::Predictor predictor(large_model());
  std::vector<learning::Offer> offers;
  while (offers.size() < 30) offers.push_back(predictor.offers()[offers.size() % predictor.offers().size()]);
  const auto all = problems();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(predictor.choose(all[i++ % all.size()], offers));
}
BENCHMARK(shortlist_of_30)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
