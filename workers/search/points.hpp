// The points of a space that a strategy deals with, numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <hone/search_space.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/search/step_random.hpp"

namespace hone::workers {

using PointId = std::uint32_t;

// A space of up to `limit` points is listed once, in lexicographic order; of a larger one only the points are kept that
// were asked for. So memory depends on the limit and on the length of the search, never on the Cartesian product.
class Points {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 16;

  explicit Points(const SearchSpace& space, std::size_t limit = default_limit);

  // Whether every valid point is numbered.
  bool complete() const noexcept { return complete_; }
  // Points numbered so far: 0, 1, ... size() - 1.
  std::size_t size() const noexcept { return size_; }
  const SearchSpace& space() const noexcept { return space_; }
  std::size_t dimensions() const noexcept { return radix_.size(); }
  // The number of values of each parameter.
  std::span<const std::uint32_t> radix() const noexcept { return radix_; }

  // The point's values, as places among the parameters' values. Valid until the next point is numbered.
  std::span<const std::uint32_t> places(PointId id) const noexcept {
    return {places_.data() + std::size_t{id} * radix_.size(), radix_.size()};
  }
  Configuration configuration(PointId id) const;

  // Each numbers the point if it has no number yet; nothing when it is outside the space.
  std::optional<PointId> find(const Configuration& configuration);
  std::optional<PointId> find(std::span<const std::uint32_t> places);
  // A uniformly random point; nothing when the space has none.
  std::optional<PointId> sample(StepRandom& random);
  // The points that differ in one parameter by at most `reach` places, in order of parameters and values.
  std::vector<PointId> neighbours(PointId id, std::uint32_t reach);
  // Calls `visit` for every valid point in lexicographic order until it returns false.
  void for_each(const std::function<bool(PointId)>& visit);

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& places) const noexcept;
  };
  std::optional<std::uint32_t> place_of(std::size_t parameter, std::int64_t value) const;
  std::optional<std::vector<std::uint32_t>> places_of(const Configuration& configuration) const;
  std::optional<PointId> number(std::vector<std::uint32_t> places);
  std::uint64_t key(std::span<const std::uint32_t> places) const noexcept;

  SearchSpace space_;
  std::vector<std::uint32_t> radix_;
  // Of each parameter: (value, place), sorted by value.
  std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>> by_value_;
  bool complete_ = false;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> places_;  // dimensions() a point
  // The number of a point by its places: complete, by search in the ascending keys where these fit; else by hashing.
  std::vector<std::uint64_t> keys_;
  std::unordered_map<std::vector<std::uint32_t>, PointId, Hash> numbers_;
};

}  // namespace hone::workers
