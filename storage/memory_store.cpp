#include "storage/memory_store.hpp"

#include <algorithm>
#include <limits>

#include "storage/nearest.hpp"

namespace hone::storage {
namespace {

constexpr std::size_t most_trials = 512;  // of a problem and environment

template <class Map>
auto values_at(const Map& map, const typename Map::key_type& place) {
  const auto found = map.find(place);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

}  // namespace

std::optional<Found> MemoryStore::find(const ProblemKey& key, std::string_view problem, const Environment& here) {
  std::lock_guard lock(mutex_);
  const auto exact = records_.find({key, here.id()});
  if (exact != records_.end() && exact->second.problem == problem) return Found{exact->second, EnvironmentMatch::same};
  std::optional<Found> best;
  Nearness best_nearness;
  for (auto entry = records_.lower_bound({key, 0}); entry != records_.end() && entry->second.key == key; ++entry) {
    const Record& record = entry->second;
    if (record.problem != problem) continue;
    Nearness nearness;
    if (const auto there = environments_.find(record.environment); there != environments_.end()) {
      nearness.match = match(here, there->second);
      nearness.newer_facts = newer_facts(here, there->second);
    }
    nearness.measured = record.measured;
    nearness.date = record.date;
    if (best && !nearer(nearness, best_nearness)) continue;
    best = Found{record, nearness.match};
    best_nearness = nearness;
  }
  return best;
}

std::vector<Quarantined> MemoryStore::quarantined(const ProblemKey& key, std::uint64_t environment) {
  std::lock_guard lock(mutex_);
  return values_at(quarantined_, {key, environment});
}

std::vector<Trial> MemoryStore::trials(const ProblemKey& key, std::uint64_t environment) {
  std::lock_guard lock(mutex_);
  return values_at(trials_, {key, environment});
}

std::optional<Binary> MemoryStore::binary(const std::array<std::uint8_t, 16>& key) {
  std::lock_guard lock(mutex_);
  const auto found = binaries_.find(key);
  if (found == binaries_.end()) return {};
  return found->second;
}

std::vector<Found> MemoryStore::sample(const ProblemKey& key, std::string_view operation, const Environment& here,
                                       std::size_t limit) {
  std::lock_guard lock(mutex_);
  std::vector<Found> result;
  const auto begin = records_.lower_bound({key, 0});
  const auto look_at = [&](auto entry, auto end) {
    for (; entry != end && limit > 0; ++entry, --limit) {
      const Record& record = entry->second;
      if (!is_of(record.problem, operation)) continue;
      const auto there = environments_.find(record.environment);
      result.push_back({record, record.environment == here.id() ? EnvironmentMatch::same
                                : there != environments_.end()  ? match(here, there->second)
                                                                : EnvironmentMatch::other});
    }
  };
  look_at(begin, records_.end());
  look_at(records_.begin(), begin);
  return result;
}

std::error_code MemoryStore::commit(std::span<const Change> changes) {
  std::lock_guard lock(mutex_);
  for (const Change& change : changes) std::visit([this](const auto& c) { apply(c); }, change);
  return {};
}

void MemoryStore::apply(const PutEnvironment& change) {
  environments_.insert_or_assign(change.environment.id(), change.environment);
}

void MemoryStore::apply(const PutRecord& change) {
  const Record& record = change.record;
  const auto [entry, fresh] = records_.try_emplace({record.key, record.environment}, record);
  // A measurement is never overwritten with hearsay.
  if (!fresh && (record.measured || !entry->second.measured || entry->second.problem != record.problem)) {
    entry->second = record;
  }
}

void MemoryStore::apply(const PutTrial& change) {
  std::vector<Trial>& kept = trials_[{change.trial.key, change.trial.environment}];
  if (kept.size() == most_trials) kept.erase(kept.begin());
  kept.push_back(change.trial);
}

void MemoryStore::apply(const PutQuarantine& change) {
  const Quarantined& quarantined = change.quarantined;
  std::vector<Quarantined>& kept = quarantined_[{quarantined.key, quarantined.environment}];
  const auto same = std::find_if(kept.begin(), kept.end(),
                                 [&](const Quarantined& q) { return q.candidate == quarantined.candidate; });
  if (same == kept.end()) {
    kept.push_back(quarantined);
  } else if (replaces(quarantined, *same)) {
    *same = quarantined;
  }
}

void MemoryStore::apply(const PutBinary& change) {
  const auto [kept, fresh] = binaries_.try_emplace(change.binary.key, change.binary);
  if (!fresh && replaces(change.binary, kept->second)) kept->second = change.binary;
}

void MemoryStore::apply(const MergeRecord& change) {
  const auto kept = records_.find({change.record.key, change.record.environment});
  if (kept == records_.end() || replaces(change.record, kept->second)) apply(PutRecord{change.record});
}

void MemoryStore::apply(const MergeTrial& change) {
  const std::vector<Trial>& kept = trials_[{change.trial.key, change.trial.environment}];
  if (std::find(kept.begin(), kept.end(), change.trial) == kept.end()) apply(PutTrial{change.trial});
}

void MemoryStore::apply(const Forget& change) {
  const Place place{change.key, change.environment};
  records_.erase(place);
  trials_.erase(place);
  quarantined_.erase(place);
  forgotten_.insert(place);
}

std::vector<Change> MemoryStore::changes() const {
  std::lock_guard lock(mutex_);
  std::vector<Change> result;
  for (const auto& [key, environment] : forgotten_) result.push_back(Forget{key, environment});
  for (const auto& [id, environment] : environments_) result.push_back(PutEnvironment{environment});
  for (const auto& [place, record] : records_) result.push_back(PutRecord{record});
  for (const auto& [place, trials] : trials_) {
    for (const Trial& trial : trials) result.push_back(PutTrial{trial});
  }
  for (const auto& [place, candidates] : quarantined_) {
    for (const Quarantined& candidate : candidates) result.push_back(PutQuarantine{candidate});
  }
  for (const auto& [key, binary] : binaries_) result.push_back(PutBinary{binary});
  return result;
}

bool MemoryStore::forgot(const ProblemKey& key, std::uint64_t environment) const {
  std::lock_guard lock(mutex_);
  return forgotten_.contains({key, environment});
}

bool MemoryStore::empty() const {
  std::lock_guard lock(mutex_);
  return environments_.empty() && records_.empty() && trials_.empty() && quarantined_.empty() && binaries_.empty() &&
         forgotten_.empty();
}

void MemoryStore::clear() {
  std::lock_guard lock(mutex_);
  environments_.clear();
  records_.clear();
  trials_.clear();
  quarantined_.clear();
  binaries_.clear();
  forgotten_.clear();
}

}  // namespace hone::storage
