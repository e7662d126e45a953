// The rules of a search space, sorted by when they can be applied, and the number of ways to complete a prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/search_space.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace hone {

struct SpaceRule {
  std::vector<std::size_t> parameters;  // places, in the order of the predicate's values
  SearchSpace::Predicate predicate;
  std::string description;
};

// Immutable and thread-safe.
class SpaceRules {
 public:
  SpaceRules(std::size_t parameter_count, std::vector<SpaceRule> rules);

  std::span<const SpaceRule> all() const noexcept { return rules_; }
  // Whether the rules without parameters hold.
  bool feasible() const { return hold(by_last_[0], {}); }
  // Whether the rules hold whose last parameter is `last`; `values` holds at least last + 1 values.
  bool allow(std::size_t last, std::span<const std::int64_t> values) const { return hold(by_last_[last + 1], values); }
  // The first rule that does not hold for a full set of values.
  const SpaceRule* broken(std::span<const std::int64_t> values) const;
  // The parameters before `depth` on which the rules still to be applied depend.
  std::vector<std::size_t> live(std::size_t depth) const;

 private:
  static bool holds(const SpaceRule& rule, std::span<const std::int64_t> values);
  bool hold(std::span<const std::size_t> rules, std::span<const std::int64_t> values) const;

  std::vector<SpaceRule> rules_;
  std::vector<std::vector<std::size_t>> by_last_;  // [0]: rules without parameters; [i + 1]: the last one is i
};

// How many valid completions each prefix of values has, by dynamic programming: what follows depends only on those
// values of the prefix that later rules look at, so prefixes that agree in them share one entry. Parameters that no
// rule links cost nothing. Immutable and thread-safe.
class CompletionCounts {
 public:
  // Bounds of the table: entries kept, and values tried while filling it.
  static constexpr std::size_t max_entries = std::size_t{1} << 19;
  static constexpr std::size_t max_steps = std::size_t{1} << 24;

  // Nothing when the table would exceed its bounds: too many parameters are linked with each other.
  static std::unique_ptr<const CompletionCounts> make(std::span<const Parameter> parameters, const SpaceRules& rules);

  // Of the whole space. Exact below 2^64, where long double has a mantissa of 64 bits.
  long double total() const noexcept { return total_; }
  // Valid completions of the first `depth` values, given by their places among the parameters' values.
  long double completions(std::size_t depth, std::span<const std::uint32_t> places) const;

 private:
  struct Level {
    std::vector<std::size_t> live;     // the parameters that make the key
    std::vector<std::uint64_t> radix;  // of each
    std::unordered_map<std::uint64_t, long double> counts;
  };
  std::uint64_t key(const Level& level, std::span<const std::uint32_t> places) const noexcept;
  friend class CompletionCounter;

  std::vector<Level> levels_;  // of prefixes with 0, 1, ... values
  long double total_ = 0;
};

}  // namespace hone
