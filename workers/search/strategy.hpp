// Search strategies: which configuration of a space to evaluate next.
//
// What is suggested depends only on the space, the options and what was observed or is still awaited, in that order. So
// a search resumes by observing its stored trials again, in their order, on a new strategy with the same options: it
// goes on exactly as if it had never stopped. Trials from elsewhere may be observed as well.
#pragma once

#include <chrono>
#include <cstdint>
#include <hone/configuration.hpp>
#include <hone/search_space.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hone::workers {

// One thread at a time.
class Strategy {
 public:
  using Time = std::chrono::duration<double, std::nano>;

  virtual ~Strategy() = default;
  // A valid configuration that was neither suggested nor observed before; nothing when there is none left. May be
  // called again before the last suggestion is observed, to prepare candidates ahead.
  virtual std::optional<Configuration> suggest() = 0;
  // What evaluating a configuration gave, suggested or not: its time, or nothing when it failed. Configurations outside
  // the space are ignored; of one observed twice the later outcome counts. A time that is not positive is a failure.
  virtual void observe(const Configuration& configuration, std::optional<Time> time) = 0;
};

// A trial of the same space elsewhere: on a sibling device, with another driver, for a near problem.
struct PriorTrial {
  Configuration configuration;
  std::optional<Strategy::Time> time;  // nothing when it failed
};

struct StrategyOptions {
  std::uint64_t seed = 1;
  // Suggested before anything else, in this order: incumbent, defaults, a model's picks, the best configurations of
  // near problems and devices. Those outside the space are skipped.
  std::vector<Configuration> first = {};
  // The share of suggestions that are drawn at random, whatever was observed: no bad start can crowd it out. For the
  // strategies surrogate, greedy and genetic. In [0, 1].
  double exploration = 0.05;
  // What the strategy surrogate expects before it knows better; the others pass it over. Only how times compare with
  // each other counts, and only as far as the trials here bear it out.
  std::vector<PriorTrial> prior = {};
};

// The names that make_strategy accepts; the first one is the default.
std::span<const std::string_view> strategy_names() noexcept;

// Throws Error(invalid_option) on an unknown name, naming the known ones, or on an option out of range, and for
// "exhaustive" on a space of more than 2^20 configurations.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space, StrategyOptions options = {});

}  // namespace hone::workers
