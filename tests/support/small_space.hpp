// Random small search spaces for properties.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <hone/search_space.hpp>
#include <string>
#include <vector>

namespace hone::test {

inline std::string small_space_parameter(std::size_t index) { return "p" + std::to_string(index); }

// A random small space and, as its own witness, the rules as plain functions.
struct SmallSpace {
  SearchSpace space;
  std::vector<std::vector<std::int64_t>> values;
  std::vector<std::function<bool(const std::vector<std::int64_t>&)>> rules;

  std::vector<std::vector<std::int64_t>> brute_force() const {
    std::vector<std::vector<std::int64_t>> all = {{}};
    for (const auto& choices : values) {
      std::vector<std::vector<std::int64_t>> longer;
      for (const auto& prefix : all) {
        for (const std::int64_t value : choices) {
          longer.push_back(prefix);
          longer.back().push_back(value);
        }
      }
      all = std::move(longer);
    }
    std::erase_if(all, [&](const auto& point) {
      return !std::all_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule(point); });
    });
    return all;
  }
};

// Within a property. At most so many parameters with so many values each.
inline SmallSpace make_small_space(std::size_t most_parameters = 5, std::size_t most_values = 4) {
  SmallSpace small;
  const auto parameters = *rc::gen::inRange<std::size_t>(1, most_parameters + 1);
  for (std::size_t i = 0; i < parameters; ++i) {
    const auto count = *rc::gen::inRange<std::size_t>(1, most_values + 1);
    small.values.push_back(*rc::gen::unique<std::vector<std::int64_t>>(count, rc::gen::inRange<std::int64_t>(0, 9)));
    small.space.integer(small_space_parameter(i), small.values.back());
  }
  const auto rules = *rc::gen::inRange(0, 4);
  for (int i = 0; i < rules; ++i) {
    const auto a = *rc::gen::inRange<std::size_t>(0, parameters);
    const auto b = *rc::gen::inRange<std::size_t>(0, parameters);
    const auto limit = *rc::gen::inRange<std::int64_t>(0, 12);
    const std::string first = small_space_parameter(a);
    const std::string second = small_space_parameter(b);
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        small.space.rule(first + " + " + second + " <= " + std::to_string(limit));
        small.rules.emplace_back([=](const auto& v) { return v[a] + v[b] <= limit; });
        break;
      case 1:
        small.space.rule(first + " % " + second + " == 0");
        small.rules.emplace_back([=](const auto& v) { return v[b] != 0 && v[a] % v[b] == 0; });
        break;
      default:
        small.space.rule({first, second}, [limit](auto v) { return v[0] * v[1] != limit; });
        small.rules.emplace_back([=](const auto& v) { return v[a] * v[b] != limit; });
    }
  }
  return small;
}

}  // namespace hone::test
