#include "kernels/search_space_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace hone {

static_assert(std::numeric_limits<long double>::digits >= 64, "counts up to 2^64 must be exact");

SpaceRules::SpaceRules(std::size_t parameter_count, std::vector<SpaceRule> rules)
    : rules_(std::move(rules)), by_last_(parameter_count + 1) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const auto& used = rules_[i].parameters;
    const std::size_t place = used.empty() ? 0 : *std::max_element(used.begin(), used.end()) + 1;
    by_last_[place].push_back(i);
  }
}

bool SpaceRules::holds(const SpaceRule& rule, std::span<const std::int64_t> values) {
  constexpr std::size_t small = 16;
  std::array<std::int64_t, small> buffer;
  std::vector<std::int64_t> large;
  const std::size_t count = rule.parameters.size();
  if (count > small) large.resize(count);
  const std::span<std::int64_t> arguments = count > small ? std::span(large) : std::span(buffer).first(count);
  for (std::size_t i = 0; i < count; ++i) arguments[i] = values[rule.parameters[i]];
  return rule.predicate(arguments);
}

bool SpaceRules::hold(std::span<const std::size_t> rules, std::span<const std::int64_t> values) const {
  return std::all_of(rules.begin(), rules.end(), [&](std::size_t rule) { return holds(rules_[rule], values); });
}

const SpaceRule* SpaceRules::broken(std::span<const std::int64_t> values) const {
  for (const auto& rules : by_last_) {
    for (const std::size_t rule : rules) {
      if (!holds(rules_[rule], values)) return &rules_[rule];
    }
  }
  return nullptr;
}

std::vector<std::size_t> SpaceRules::live(std::size_t depth) const {
  std::vector<std::size_t> live;
  for (std::size_t last = depth; last + 1 < by_last_.size(); ++last) {
    for (const std::size_t rule : by_last_[last + 1]) {
      for (const std::size_t parameter : rules_[rule].parameters) {
        if (parameter < depth) live.push_back(parameter);
      }
    }
  }
  std::sort(live.begin(), live.end());
  live.erase(std::unique(live.begin(), live.end()), live.end());
  return live;
}

// Fills a table from the top, visiting only what can be reached.
class CompletionCounter {
 public:
  CompletionCounter(std::span<const Parameter> parameters, const SpaceRules& rules, CompletionCounts& counts)
      : parameters_(parameters), rules_(rules), counts_(counts), values_(parameters.size()), places_(values_.size()) {}

  bool fill() {
    if (!rules_.feasible()) return true;
    counts_.total_ = count(0);
    return !exceeded_;
  }

 private:
  long double count(std::size_t depth) {
    if (depth == parameters_.size()) return 1;
    CompletionCounts::Level& level = counts_.levels_[depth];
    const std::uint64_t key = counts_.key(level, places_);
    if (const auto known = level.counts.find(key); known != level.counts.end()) return known->second;
    if (++entries_ > CompletionCounts::max_entries) exceeded_ = true;
    long double sum = 0;
    const std::vector<std::int64_t>& values = parameters_[depth].values;
    for (std::uint32_t place = 0; place < values.size() && !exceeded_; ++place) {
      if (++steps_ > CompletionCounts::max_steps) exceeded_ = true;
      places_[depth] = place;
      values_[depth] = values[place];
      if (rules_.allow(depth, values_)) sum += count(depth + 1);
    }
    if (!exceeded_) level.counts.emplace(key, sum);
    return sum;
  }

  std::span<const Parameter> parameters_;
  const SpaceRules& rules_;
  CompletionCounts& counts_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> places_;
  std::size_t entries_ = 0;
  std::size_t steps_ = 0;
  bool exceeded_ = false;
};

std::unique_ptr<const CompletionCounts> CompletionCounts::make(std::span<const Parameter> parameters,
                                                               const SpaceRules& rules) {
  auto counts = std::make_unique<CompletionCounts>();
  counts->levels_.resize(parameters.size());
  for (std::size_t depth = 0; depth < parameters.size(); ++depth) {
    Level& level = counts->levels_[depth];
    level.live = rules.live(depth);
    std::uint64_t product = 1;
    for (const std::size_t parameter : level.live) {
      level.radix.push_back(parameters[parameter].values.size());
      if (__builtin_mul_overflow(product, level.radix.back(), &product)) return nullptr;
    }
  }
  if (!CompletionCounter(parameters, rules, *counts).fill()) return nullptr;
  return counts;
}

std::uint64_t CompletionCounts::key(const Level& level, std::span<const std::uint32_t> places) const noexcept {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < level.live.size(); ++i) key = key * level.radix[i] + places[level.live[i]];
  return key;
}

long double CompletionCounts::completions(std::size_t depth, std::span<const std::uint32_t> places) const {
  if (depth == levels_.size()) return total_ > 0 ? 1 : 0;
  const Level& level = levels_[depth];
  const auto known = level.counts.find(key(level, places));
  return known == level.counts.end() ? 0 : known->second;
}

}  // namespace hone
