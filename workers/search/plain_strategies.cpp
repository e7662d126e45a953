#include "workers/search/plain_strategies.hpp"

#include <fmt/format.h>

#include <hone/error.hpp>

namespace hone::workers {

ExhaustiveStrategy::ExhaustiveStrategy(const SearchSpace& space, StrategyOptions options)
    : NumberedStrategy(space, std::move(options), max_points) {
  if (!points().complete()) {
    throw Error(
        Errc::invalid_option,
        fmt::format("the space has more than {} configurations; choose another strategy than exhaustive", max_points));
  }
}

std::optional<PointId> ExhaustiveStrategy::choose(StepRandom&) {
  while (!fresh(next_)) ++next_;
  return next_;
}

}  // namespace hone::workers
