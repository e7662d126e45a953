#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <hone/error.hpp>
#include <hone/search_space.hpp>
#include <mutex>

#include "kernels/rule_expression.hpp"
#include "kernels/search_space_rules.hpp"

namespace hone {
namespace {

// A parameter with more values than this is a mistake, and would be slow to hold.
constexpr std::size_t max_values = std::size_t{1} << 20;

// Draws from a product of values that is rejected this often has so few valid points that one pass over it is cheaper.
constexpr std::size_t max_rejections = std::size_t{1} << 20;

// The places of a parameter's values, sorted by value.
using Places = std::vector<std::pair<std::int64_t, std::uint32_t>>;

std::optional<std::uint32_t> place_of(const Places& places, std::int64_t value) {
  const auto found = std::lower_bound(places.begin(), places.end(), std::pair(value, std::uint32_t{0}));
  if (found == places.end() || found->first != value) return std::nullopt;
  return found->second;
}

// Text that would not come back from Configuration::text() is refused.
void check_word(const std::string& word, const char* what) {
  if (word.empty()) throw Error(Errc::invalid_option, fmt::format("a {} is empty; give it a text", what));
  if (word.find_first_of(",={} \t\r\n'\"") != std::string::npos) {
    throw Error(Errc::invalid_option,
                fmt::format("{} '{}': leave out spaces, quotes, ',', '=', '{{' and '}}'", what, word));
  }
}

std::string print(const Parameter& parameter, std::int64_t value) {
  const auto place = std::find(parameter.values.begin(), parameter.values.end(), value);
  if (parameter.labels.empty() || place == parameter.values.end()) return std::to_string(value);
  return parameter.labels[static_cast<std::size_t>(place - parameter.values.begin())];
}

}  // namespace

struct SearchSpace::State {
  std::shared_ptr<const std::vector<Parameter>> parameters = std::make_shared<const std::vector<Parameter>>();
  std::vector<Places> places = {};
  SpaceRules rules{0, {}};

  // Made at first use, by whichever thread comes first.
  std::once_flag counted = {};
  std::unique_ptr<const CompletionCounts> counts = nullptr;

  const CompletionCounts* completion_counts() {
    std::call_once(counted, [&] { counts = CompletionCounts::make(*parameters, rules); });
    return counts.get();
  }

  std::size_t index_of(std::string_view name) const {
    const auto place = std::find_if(parameters->begin(), parameters->end(), [&](auto& p) { return p.name == name; });
    return static_cast<std::size_t>(place - parameters->begin());
  }

  bool accepts(std::size_t parameter, std::int64_t value) const {
    return place_of(places[parameter], value).has_value();
  }

  // A finished space may be shared, so that a change makes a state of its own.
  std::shared_ptr<State> with(Parameter parameter) const {
    check_word(parameter.name, "parameter name");
    if (index_of(parameter.name) < parameters->size()) {
      throw Error(Errc::invalid_option, fmt::format("parameter '{}' was added twice; rename one", parameter.name));
    }
    if (parameter.values.empty() || parameter.values.size() > max_values) {
      throw Error(Errc::invalid_option, fmt::format("parameter '{}' has {} values; give it 1 to {}", parameter.name,
                                                    parameter.values.size(), max_values));
    }
    Places sorted;
    for (const std::int64_t value : parameter.values) sorted.emplace_back(value, sorted.size());
    std::sort(sorted.begin(), sorted.end());
    const auto twice =
        std::adjacent_find(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.first == b.first; });
    if (twice != sorted.end()) {
      throw Error(Errc::invalid_option,
                  fmt::format("parameter '{}' has the value {} twice; give it once", parameter.name, twice->first));
    }
    auto next = std::make_shared<State>();
    auto list = *parameters;
    list.push_back(std::move(parameter));
    next->rules = SpaceRules(list.size(), {rules.all().begin(), rules.all().end()});
    next->parameters = std::make_shared<const std::vector<Parameter>>(std::move(list));
    next->places = places;
    next->places.push_back(std::move(sorted));
    return next;
  }

  std::shared_ptr<State> with(SpaceRule rule) const {
    auto next = std::make_shared<State>();
    next->parameters = parameters;
    next->places = places;
    std::vector<SpaceRule> list(rules.all().begin(), rules.all().end());
    list.push_back(std::move(rule));
    next->rules = SpaceRules(parameters->size(), std::move(list));
    return next;
  }

  // Why the values are outside the space; "" when they are inside.
  std::string refusal(std::span<const std::int64_t> values) const {
    if (values.size() != parameters->size()) {
      return fmt::format("{} values were given for {} parameters", values.size(), parameters->size());
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!accepts(i, values[i])) {
        return fmt::format("parameter '{}' does not accept {}", (*parameters)[i].name, values[i]);
      }
    }
    const SpaceRule* broken = rules.broken(values);
    return broken != nullptr ? fmt::format("the rule {} does not hold", broken->description) : "";
  }

  bool contains(std::span<const std::int64_t> values) const {
    if (values.size() != parameters->size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!accepts(i, values[i])) return false;
    }
    return rules.broken(values) == nullptr;
  }
};

namespace {

// Visits valid value sets in lexicographic order until told to stop.
template <class Visit>
class Enumeration {
 public:
  Enumeration(std::span<const Parameter> parameters, const SpaceRules& rules, const CompletionCounts* counts,
              Visit visit)
      : parameters_(parameters),
        rules_(rules),
        counts_(counts),
        visit_(std::move(visit)),
        values_(parameters.size()),
        places_(parameters.size()) {}

  void run() {
    if (rules_.feasible()) descend(0);
  }

 private:
  bool descend(std::size_t depth) {
    if (depth == parameters_.size()) return visit_(values_);
    const std::vector<std::int64_t>& values = parameters_[depth].values;
    for (std::uint32_t place = 0; place < values.size(); ++place) {
      values_[depth] = values[place];
      places_[depth] = place;
      if (!rules_.allow(depth, values_)) continue;
      if (counts_ != nullptr && counts_->completions(depth + 1, places_) == 0) continue;
      if (!descend(depth + 1)) return false;
    }
    return true;
  }

  std::span<const Parameter> parameters_;
  const SpaceRules& rules_;
  const CompletionCounts* counts_;  // none: dead ends are found by walking into them
  Visit visit_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> places_;
};

template <class Visit>
void enumerate(std::span<const Parameter> parameters, const SpaceRules& rules, const CompletionCounts* counts,
               Visit visit) {
  Enumeration<Visit>(parameters, rules, counts, std::move(visit)).run();
}

// In [0, size), unbiased. The standard distributions differ between libraries, and seeds should mean the same anywhere.
std::uint64_t draw_below(std::uint64_t size, std::mt19937_64& random) {
  const std::uint64_t threshold = (0 - size) % size;
  std::uint64_t word = random();
  while (word < threshold) word = random();
  return word % size;
}

std::vector<std::int64_t> descend_by_counts(std::span<const Parameter> parameters, const SpaceRules& rules,
                                            const CompletionCounts& counts, std::mt19937_64& random) {
  constexpr long double two_to_64 = 18446744073709551616.0L;
  long double rank = counts.total() < two_to_64
                         ? static_cast<long double>(draw_below(static_cast<std::uint64_t>(counts.total()), random))
                         : static_cast<long double>(random()) / two_to_64 * counts.total();
  std::vector<std::int64_t> values(parameters.size());
  std::vector<std::uint32_t> places(parameters.size());
  for (std::size_t depth = 0; depth < parameters.size(); ++depth) {
    std::optional<std::uint32_t> chosen;
    for (std::uint32_t place = 0; place < parameters[depth].values.size(); ++place) {
      values[depth] = parameters[depth].values[place];
      places[depth] = place;
      if (!rules.allow(depth, values)) continue;
      const long double below = counts.completions(depth + 1, places);
      if (below == 0) continue;
      chosen = place;  // rounding beyond 2^64 may leave a rank just past the last one
      if (rank < below) break;
      rank -= below;
    }
    places[depth] = chosen.value();
    values[depth] = parameters[depth].values[*chosen];
  }
  return values;
}

std::optional<std::vector<std::int64_t>> draw_and_reject(std::span<const Parameter> parameters, const SpaceRules& rules,
                                                         std::mt19937_64& random) {
  std::vector<std::int64_t> values(parameters.size());
  for (std::size_t attempt = 0; attempt < max_rejections; ++attempt) {
    std::size_t depth = 0;
    for (; depth < parameters.size(); ++depth) {
      values[depth] = parameters[depth].values[draw_below(parameters[depth].values.size(), random)];
      if (!rules.allow(depth, values)) break;
    }
    if (depth == parameters.size()) return values;
  }
  return std::nullopt;
}

// One pass that keeps the n-th valid point with probability 1/n.
std::optional<std::vector<std::int64_t>> draw_in_one_pass(std::span<const Parameter> parameters,
                                                          const SpaceRules& rules, std::mt19937_64& random) {
  std::optional<std::vector<std::int64_t>> kept;
  std::uint64_t seen = 0;
  enumerate(parameters, rules, nullptr, [&](const std::vector<std::int64_t>& values) {
    if (draw_below(++seen, random) == 0) kept = values;
    return true;
  });
  return kept;
}

}  // namespace

SearchSpace::SearchSpace() : state_(std::make_shared<State>()) {}

SearchSpace& SearchSpace::integer(std::string name, std::vector<std::int64_t> values) {
  state_ = state_->with(Parameter{std::move(name), std::move(values), {}});
  return *this;
}

SearchSpace& SearchSpace::range(std::string name, std::int64_t first, std::int64_t last, std::int64_t step) {
  if (step <= 0 || first > last) {
    throw Error(Errc::invalid_option,
                fmt::format("parameter '{}': the range {}..{} step {} is empty; give first <= last and step >= 1", name,
                            first, last, step));
  }
  const std::uint64_t steps =
      (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)) / static_cast<std::uint64_t>(step);
  if (steps >= max_values) {
    throw Error(Errc::invalid_option, fmt::format("parameter '{}': the range {}..{} step {} has more than {} values",
                                                  name, first, last, step, max_values));
  }
  std::vector<std::int64_t> values;
  for (std::uint64_t i = 0; i <= steps; ++i) values.push_back(first + static_cast<std::int64_t>(i) * step);
  return integer(std::move(name), std::move(values));
}

SearchSpace& SearchSpace::power_of_two(std::string name, std::int64_t first, std::int64_t last) {
  const auto is_power = [](std::int64_t v) { return v > 0 && (v & (v - 1)) == 0; };
  if (!is_power(first) || !is_power(last) || first > last) {
    throw Error(Errc::invalid_option,
                fmt::format("parameter '{}': {} to {} must be powers of two, the smaller first", name, first, last));
  }
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value < last; value *= 2) values.push_back(value);
  values.push_back(last);
  return integer(std::move(name), std::move(values));
}

SearchSpace& SearchSpace::boolean(std::string name) { return integer(std::move(name), {0, 1}); }

SearchSpace& SearchSpace::enumeration(std::string name, std::vector<std::string> labels) {
  Parameter parameter{std::move(name), {}, std::move(labels)};
  for (const std::string& label : parameter.labels) {
    check_word(label, "label");
    if (std::count(parameter.labels.begin(), parameter.labels.end(), label) > 1) {
      throw Error(Errc::invalid_option,
                  fmt::format("parameter '{}' has the label '{}' twice; give it once", parameter.name, label));
    }
    parameter.values.push_back(static_cast<std::int64_t>(parameter.values.size()));
  }
  state_ = state_->with(std::move(parameter));
  return *this;
}

SearchSpace& SearchSpace::rule(std::vector<std::string> names, Predicate predicate) {
  SpaceRule rule{{}, std::move(predicate), fmt::format("between {}", fmt::join(names, ", "))};
  if (!rule.predicate) throw Error(Errc::invalid_option, "a rule has no predicate; give it a function");
  for (const std::string& name : names) {
    rule.parameters.push_back(state_->index_of(name));
    if (rule.parameters.back() == state_->parameters->size()) {
      throw Error(Errc::invalid_option,
                  fmt::format("a rule names the parameter '{}', which does not exist; add it first", name));
    }
  }
  state_ = state_->with(std::move(rule));
  return *this;
}

SearchSpace& SearchSpace::rule(std::string_view expression) {
  RuleExpression parsed = RuleExpression::parse(expression, *state_->parameters);
  SpaceRule rule{{parsed.parameters().begin(), parsed.parameters().end()}, {}, fmt::format("'{}'", expression)};
  rule.predicate = [parsed = std::move(parsed)](std::span<const std::int64_t> values) { return parsed.holds(values); };
  state_ = state_->with(std::move(rule));
  return *this;
}

bool SearchSpace::empty() const noexcept { return state_->parameters->empty(); }

std::span<const Parameter> SearchSpace::parameters() const noexcept { return *state_->parameters; }

bool SearchSpace::contains(const Configuration& configuration) const {
  return state_->contains(configuration.values());
}

Configuration SearchSpace::configuration(std::vector<std::int64_t> values) const {
  const std::string refusal = state_->refusal(values);
  if (!refusal.empty()) {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool named = i < state_->parameters->size();
      text += fmt::format("{}{}", i > 0 ? "," : "",
                          named ? (*state_->parameters)[i].name + '=' + print((*state_->parameters)[i], values[i])
                                : std::to_string(values[i]));
    }
    throw Error(Errc::invalid_option, fmt::format("configuration '{}' is outside the space: {}", text, refusal));
  }
  return {state_->parameters, std::move(values)};
}

std::optional<Configuration> SearchSpace::parse(std::string_view text) const {
  const std::vector<Parameter>& parameters = *state_->parameters;
  std::vector<std::optional<std::int64_t>> found(parameters.size());
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (comma != std::string_view::npos && comma + 1 == text.size()) return std::nullopt;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::size_t index = state_->index_of(item.substr(0, equals));
    if (index == parameters.size() || found[index]) return std::nullopt;
    const std::string_view word = item.substr(equals + 1);
    const Parameter& parameter = parameters[index];
    if (!parameter.labels.empty()) {
      const auto label = std::find(parameter.labels.begin(), parameter.labels.end(), word);
      if (label == parameter.labels.end()) return std::nullopt;
      found[index] = parameter.values[static_cast<std::size_t>(label - parameter.labels.begin())];
    } else {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
      found[index] = value;
    }
  }
  std::vector<std::int64_t> values;
  for (const auto& value : found) {
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (!state_->contains(values)) return std::nullopt;
  return Configuration(state_->parameters, std::move(values));
}

std::uint64_t SearchSpace::count(std::uint64_t limit) const {
  if (limit == 0) return 0;
  if (const CompletionCounts* counts = state_->completion_counts()) {
    return counts->total() < static_cast<long double>(limit) ? static_cast<std::uint64_t>(counts->total()) : limit;
  }
  std::uint64_t count = 0;
  enumerate(*state_->parameters, state_->rules, nullptr, [&](const auto&) { return ++count < limit; });
  return count;
}

void SearchSpace::for_each(const std::function<bool(const Configuration&)>& visit) const {
  enumerate(*state_->parameters, state_->rules, state_->completion_counts(),
            [&](const auto& values) { return visit(Configuration(state_->parameters, values)); });
}

std::optional<Configuration> SearchSpace::sample(std::mt19937_64& random) const {
  const std::vector<Parameter>& parameters = *state_->parameters;
  std::optional<std::vector<std::int64_t>> values;
  if (const CompletionCounts* counts = state_->completion_counts()) {
    if (counts->total() == 0) return std::nullopt;
    values = descend_by_counts(parameters, state_->rules, *counts, random);
  } else if (state_->rules.feasible()) {
    values = draw_and_reject(parameters, state_->rules, random);
    if (!values) values = draw_in_one_pass(parameters, state_->rules, random);
  }
  if (!values) return std::nullopt;
  return Configuration(state_->parameters, std::move(*values));
}

std::vector<Configuration> SearchSpace::neighbours(const Configuration& configuration) const {
  const std::vector<Parameter>& parameters = *state_->parameters;
  std::vector<Configuration> neighbours;
  std::vector<std::int64_t> values(configuration.values().begin(), configuration.values().end());
  if (values.size() != parameters.size()) return neighbours;
  std::vector<std::uint32_t> places;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = place_of(state_->places[i], values[i]);
    if (!place) return neighbours;
    places.push_back(*place);
    widest = std::max(widest, parameters[i].values.size());
  }
  for (std::size_t distance = 1; distance < widest; ++distance) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t own = values[i];
      const auto try_place = [&](std::size_t place) {
        values[i] = parameters[i].values[place];
        if (state_->rules.broken(values) == nullptr) neighbours.emplace_back(state_->parameters, values);
        values[i] = own;
      };
      if (places[i] >= distance) try_place(places[i] - distance);
      if (places[i] + distance < parameters[i].values.size()) try_place(places[i] + distance);
    }
  }
  return neighbours;
}

}  // namespace hone
