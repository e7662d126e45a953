#include "kernels/covering_sample.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <set>

namespace hone {
namespace {

using Values = std::vector<std::int64_t>;

std::vector<ValuePair> pairs_of(const Configuration& configuration) {
  const auto values = configuration.values();
  std::vector<ValuePair> pairs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) pairs.push_back({i, values[i], j, values[j]});
  }
  return pairs;
}

std::set<ValuePair> all_pairs(const SearchSpace& space) {
  std::set<ValuePair> pairs;
  const auto parameters = space.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (const std::int64_t value : parameters[i].values) {
      pairs.insert({i, value, i, value});
      for (std::size_t j = i + 1; j < parameters.size(); ++j) {
        for (const std::int64_t other : parameters[j].values) pairs.insert({i, value, j, other});
      }
    }
  }
  return pairs;
}

// A random configuration of the space that has the pair.
std::optional<Configuration> sample_with(const SearchSpace& space, const ValuePair& pair, std::mt19937_64& random) {
  SearchSpace part = space;
  const auto fix = [&](std::size_t parameter, std::int64_t wanted) {
    part.rule({space.parameters()[parameter].name},
              [wanted](std::span<const std::int64_t> v) { return v[0] == wanted; });
  };
  fix(pair.first_parameter, pair.first_value);
  if (pair.second_parameter != pair.first_parameter) fix(pair.second_parameter, pair.second_value);
  return part.sample(random);
}

class Sampler {
 public:
  Sampler(const SearchSpace& space, std::uint64_t seed) : space_(space), open_(all_pairs(space)), random_(seed) {}

  // Of several samples, the one with the most open pairs.
  void draw() {
    constexpr int tries = 10;
    std::optional<Configuration> best;
    std::size_t most = 0;
    for (int i = 0; i < tries; ++i) {
      const std::optional<Configuration> next = space_.sample(random_);
      if (!next) return;
      const std::size_t count = gain(*next);
      if (!best || count > most) best = next, most = count;
    }
    take(*best);
  }

  void close(CoveringSample& result) {
    while (!open_.empty()) {
      const ValuePair pair = *open_.begin();
      if (const auto configuration = sample_with(space_, pair, random_)) {
        take(*configuration);
      } else {
        result.impossible.push_back(pair);
        open_.erase(pair);
      }
    }
  }

  const std::vector<Configuration>& taken() const { return taken_; }

 private:
  std::size_t gain(const Configuration& configuration) const {
    std::size_t count = 0;
    for (const ValuePair& pair : pairs_of(configuration)) count += open_.count(pair);
    return count;
  }
  void take(const Configuration& configuration) {
    const auto values = configuration.values();
    if (!known_.insert(Values(values.begin(), values.end())).second) return;
    for (const ValuePair& pair : pairs_of(configuration)) open_.erase(pair);
    taken_.push_back(configuration);
  }

  const SearchSpace& space_;
  std::set<ValuePair> open_;
  std::mt19937_64 random_;
  std::set<Values> known_;
  std::vector<Configuration> taken_;
};

}  // namespace

CoveringSample covering_sample(const SearchSpace& space, std::size_t least, std::uint64_t seed) {
  CoveringSample result;
  if (space.count(least + 1) <= least) {
    std::set<ValuePair> missing = all_pairs(space);
    space.for_each([&](const Configuration& configuration) {
      for (const ValuePair& pair : pairs_of(configuration)) missing.erase(pair);
      result.configurations.push_back(configuration);
      return true;
    });
    result.impossible.assign(missing.begin(), missing.end());
    return result;
  }
  Sampler sampler(space, seed);
  while (sampler.taken().size() < least) sampler.draw();
  sampler.close(result);
  result.configurations = sampler.taken();
  return result;
}

}  // namespace hone
