#include "workers/search/points.hpp"

#include <algorithm>

namespace hone::workers {

Points::Points(const SearchSpace& space, std::size_t limit) : space_(space) {
  bool keys_fit = true;
  std::uint64_t product = 1;
  for (const Parameter& parameter : space_.parameters()) {
    radix_.push_back(static_cast<std::uint32_t>(parameter.values.size()));
    if (__builtin_mul_overflow(product, std::uint64_t{radix_.back()}, &product)) keys_fit = false;
    auto& sorted = by_value_.emplace_back();
    for (const std::int64_t value : parameter.values) sorted.emplace_back(value, sorted.size());
    std::sort(sorted.begin(), sorted.end());
  }
  const std::uint64_t count = space_.count(std::uint64_t{limit} + 1);
  complete_ = count <= limit;
  if (!complete_) return;
  places_.reserve(count * radix_.size());
  keys_.reserve(keys_fit ? count : 0);
  std::vector<std::int64_t> values(radix_.size());
  std::vector<std::uint32_t> places(radix_.size());
  space_.for_each([&](const Configuration& configuration) {
    // Neighbours in lexicographic order differ in few values.
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t value = configuration.values()[i];
      if (size_ > 0 && value == values[i]) continue;
      values[i] = value;
      places[i] = *place_of(i, value);
    }
    places_.insert(places_.end(), places.begin(), places.end());
    if (keys_fit) {
      keys_.push_back(key(places));
    } else {
      numbers_.emplace(places, static_cast<PointId>(size_));
    }
    ++size_;
    return true;
  });
}

std::optional<std::uint32_t> Points::place_of(std::size_t parameter, std::int64_t value) const {
  const auto& sorted = by_value_[parameter];
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), std::pair(value, std::uint32_t{0}));
  if (found == sorted.end() || found->first != value) return std::nullopt;
  return found->second;
}

std::size_t Points::Hash::operator()(const std::vector<std::uint32_t>& places) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint32_t place : places) hash = StepRandom(hash, place)();
  return hash;
}

std::uint64_t Points::key(std::span<const std::uint32_t> places) const noexcept {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < places.size(); ++i) key = key * radix_[i] + places[i];
  return key;
}

Configuration Points::configuration(PointId id) const {
  const auto parameters = space_.parameters();
  const auto point = places(id);
  std::vector<std::int64_t> values(point.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = parameters[i].values[point[i]];
  return space_.configuration(std::move(values));
}

std::optional<std::vector<std::uint32_t>> Points::places_of(const Configuration& configuration) const {
  const auto values = configuration.values();
  if (values.size() != radix_.size()) return std::nullopt;
  std::vector<std::uint32_t> places(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = place_of(i, values[i]);
    if (!place) return std::nullopt;
    places[i] = *place;
  }
  return places;
}

std::optional<PointId> Points::find(const Configuration& configuration) {
  const auto places = places_of(configuration);
  return places ? find(*places) : std::nullopt;
}

std::optional<PointId> Points::find(std::span<const std::uint32_t> places) {
  if (!keys_.empty()) {
    const std::uint64_t wanted = key(places);
    const auto found = std::lower_bound(keys_.begin(), keys_.end(), wanted);
    if (found == keys_.end() || *found != wanted) return std::nullopt;
    return static_cast<PointId>(found - keys_.begin());
  }
  return number({places.begin(), places.end()});
}

std::optional<PointId> Points::number(std::vector<std::uint32_t> places) {
  if (const auto known = numbers_.find(places); known != numbers_.end()) return known->second;
  const auto parameters = space_.parameters();
  std::vector<std::int64_t> values(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) values[i] = parameters[i].values[places[i]];
  if (!space_.contains(Configuration(nullptr, std::move(values)))) return std::nullopt;
  places_.insert(places_.end(), places.begin(), places.end());
  numbers_.emplace(std::move(places), static_cast<PointId>(size_));
  return static_cast<PointId>(size_++);
}

std::optional<PointId> Points::sample(StepRandom& random) {
  if (complete_) {
    if (size_ == 0) return std::nullopt;
    return static_cast<PointId>(random.below(size_));
  }
  std::mt19937_64 generator(random());
  const auto configuration = space_.sample(generator);
  return configuration ? find(*configuration) : std::nullopt;
}

std::vector<PointId> Points::neighbours(PointId id, std::uint32_t reach) {
  std::vector<std::uint32_t> point(places(id).begin(), places(id).end());
  std::vector<PointId> neighbours;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const std::uint32_t own = point[i];
    const std::uint32_t first = own > reach ? own - reach : 0;
    const std::uint32_t last = std::min(radix_[i] - 1, own + reach);
    for (std::uint32_t place = first; place <= last; ++place) {
      if (place == own) continue;
      point[i] = place;
      if (const auto neighbour = find(point)) neighbours.push_back(*neighbour);
    }
    point[i] = own;
  }
  return neighbours;
}

void Points::for_each(const std::function<bool(PointId)>& visit) {
  if (complete_) {
    for (PointId id = 0; id < size_; ++id) {
      if (!visit(id)) return;
    }
    return;
  }
  space_.for_each([&](const Configuration& configuration) { return visit(*find(configuration)); });
}

}  // namespace hone::workers
