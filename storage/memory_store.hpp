// A store in memory: for running without a database, for what a failing database could not take, and for tests.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "storage/store.hpp"

namespace hone::storage {

// Thread-safe.
class MemoryStore final : public Store {
 public:
  std::optional<Found> find(const ProblemKey& key, std::string_view problem, const Environment& environment) override;
  std::vector<Quarantined> quarantined(const ProblemKey& key, std::uint64_t environment) override;
  std::vector<Trial> trials(const ProblemKey& key, std::uint64_t environment) override;
  std::optional<Binary> binary(const std::array<std::uint8_t, 16>& key) override;
  std::vector<Found> sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                            std::size_t limit) override;
  std::error_code commit(std::span<const Change> changes) override;
  ForeignChanges foreign_changes() override { return {}; }
  std::vector<Damage> damage() override { return {}; }

  // All that was put and forgotten since the store was made or last cleared, in an order in which another store may
  // apply it. Trials beyond the newest 512 of a problem and environment are gone.
  std::vector<Change> changes() const;
  // The problem was forgotten here in this environment and not put again.
  bool forgot(const ProblemKey& key, std::uint64_t environment) const;
  bool empty() const;
  void clear();

 private:
  using Place = std::tuple<ProblemKey, std::uint64_t>;
  void apply(const PutEnvironment& change);
  void apply(const PutRecord& change);
  void apply(const PutTrial& change);
  void apply(const PutQuarantine& change);
  void apply(const PutBinary& change);
  void apply(const MergeRecord& change);
  void apply(const MergeTrial& change);
  void apply(const Forget& change);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Environment> environments_;
  std::map<Place, Record> records_;
  std::map<Place, std::vector<Trial>> trials_;
  std::map<Place, std::vector<Quarantined>> quarantined_;
  std::map<std::array<std::uint8_t, 16>, Binary> binaries_;
  std::set<Place> forgotten_;
};

}  // namespace hone::storage
