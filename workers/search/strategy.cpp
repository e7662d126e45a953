#include "workers/search/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <hone/error.hpp>

#include "workers/search/genetic_strategy.hpp"
#include "workers/search/local_strategies.hpp"
#include "workers/search/plain_strategies.hpp"
#include "workers/search/surrogate_strategy.hpp"

namespace hone::workers {
namespace {

using Maker = std::unique_ptr<Strategy> (*)(const SearchSpace&, StrategyOptions);

template <class T>
std::unique_ptr<Strategy> make(const SearchSpace& space, StrategyOptions options) {
  return std::make_unique<T>(space, std::move(options));
}

constexpr std::array<std::string_view, 6> names = {"surrogate", "genetic", "greedy",
                                                   "annealing", "random",  "exhaustive"};
constexpr std::array<Maker, names.size()> makers = {make<SurrogateStrategy>, make<GeneticStrategy>,
                                                    make<GreedyStrategy>,    make<AnnealingStrategy>,
                                                    make<RandomStrategy>,    make<ExhaustiveStrategy>};

}  // namespace

std::span<const std::string_view> strategy_names() noexcept { return names; }

std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space, StrategyOptions options) {
  const auto place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) {
    throw Error(Errc::invalid_option,
                fmt::format("there is no strategy '{}'; the strategies are {}", name, fmt::join(names, ", ")));
  }
  if (!(options.exploration >= 0 && options.exploration <= 1)) {
    throw Error(Errc::invalid_option,
                fmt::format("the share of exploration is {}; give it from 0 to 1", options.exploration));
  }
  return makers[static_cast<std::size_t>(place - names.begin())](space, std::move(options));
}

}  // namespace hone::workers
