// A search space: a solver's parameters and the rules between them.
//
//   hone::SearchSpace space;
//   space.integer("mr", {4, 6, 8}).power_of_two("nc", 64, 1024).boolean("pack").enumeration("order", {"ijk", "ikj"});
//   space.rule({"mr", "nc"}, [](std::span<const std::int64_t> v) { return v[1] % v[0] == 0; });
//   space.rule("mr * nc <= 2048");
//
// Enumeration is lazy: a rule is applied as soon as its last parameter is chosen, and no Cartesian product is ever
// held in memory. Building is not thread-safe; a finished space may be read by any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <hone/configuration.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class SearchSpace {
 public:
  // True when the values, one for each named parameter in the order of the names, may be combined.
  using Predicate = std::function<bool(std::span<const std::int64_t>)>;

  SearchSpace();

  // Parameters. Each throws Error(invalid_option) on an empty or repeated name, and on no or repeated values.
  SearchSpace& integer(std::string name, std::vector<std::int64_t> values);
  SearchSpace& range(std::string name, std::int64_t first, std::int64_t last, std::int64_t step = 1);
  SearchSpace& power_of_two(std::string name, std::int64_t first, std::int64_t last);
  SearchSpace& boolean(std::string name);
  SearchSpace& enumeration(std::string name, std::vector<std::string> labels);

  // Rules. Each throws Error(invalid_option) on an unknown parameter or a text that does not parse (with its column).
  SearchSpace& rule(std::vector<std::string> names, Predicate predicate);
  SearchSpace& rule(std::string_view expression);

  // True for a space without parameters; its only configuration is the empty one.
  bool empty() const noexcept;
  std::span<const Parameter> parameters() const noexcept;

  // The one validity test, used by search, storage and import alike: one accepted value a parameter, all rules hold.
  bool contains(const Configuration& configuration) const;

  // The configuration with these values, one a parameter in order. Throws Error(invalid_option) when it is outside.
  Configuration configuration(std::vector<std::int64_t> values) const;
  // Parses Configuration::text(), parameters in any order. Nothing when it does not parse or is outside the space.
  std::optional<Configuration> parse(std::string_view text) const;

  // The number of valid configurations, at most `limit` (counting stops there).
  std::uint64_t count(std::uint64_t limit = UINT64_MAX) const;
  // Calls `visit` for every valid configuration in lexicographic order until it returns false.
  void for_each(const std::function<bool(const Configuration&)>& visit) const;
  // A uniformly random valid configuration; nothing when the space has none.
  std::optional<Configuration> sample(std::mt19937_64& random) const;
  // Valid configurations that differ in exactly one parameter, nearest values first.
  std::vector<Configuration> neighbours(const Configuration& configuration) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hone
