// One store, readable and perhaps writable: an LMDB database or memory.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <hone/environment.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include "storage/record.hpp"

namespace hone::storage {

// How well a record's environment fits, best first. Lookups prefer a better class, then a newer record.
enum class EnvironmentMatch : std::uint8_t { same, same_device, same_architecture, same_vendor, other };

struct Found {
  Record record;
  EnvironmentMatch match = EnvironmentMatch::same;
};

// One change; a commit applies all of its changes in order, or none.
struct PutEnvironment {
  Environment environment;
};
struct PutRecord {
  Record record;
};
struct PutTrial {
  Trial trial;
};
// The newer one stays, see replaces() in nearest.hpp; so does the newer binary.
struct PutQuarantine {
  Quarantined quarantined;
};
struct PutBinary {
  Binary binary;
};
// Puts the record unless the one that is there is better, see replaces() in nearest.hpp.
struct MergeRecord {
  Record record;
};
// Puts the trial unless it is there already.
struct MergeTrial {
  Trial trial;
};
// Removes the record, trials and quarantine of a problem in an environment.
struct Forget {
  ProblemKey key;
  std::uint64_t environment = 0;
};
using Change =
    std::variant<PutEnvironment, PutRecord, PutTrial, PutQuarantine, PutBinary, MergeRecord, MergeTrial, Forget>;

// Something wrong that a read met; each is reported once.
struct Damage {
  std::string where;  // database, named database and key
  std::string what;
};

// What other processes changed. `everything`: more than the log of changes holds, so any record may have changed.
struct ForeignChanges {
  bool everything = false;
  std::vector<ProblemKey> keys;
};

// Thread-safe. Reads never wait for a writer.
class Store {
 public:
  virtual ~Store() = default;

  // The record for the problem in the nearest environment; damaged values and records whose problem text differs are
  // passed over and reported by damage().
  virtual std::optional<Found> find(const ProblemKey& key, std::string_view problem,
                                    const Environment& environment) = 0;
  // The quarantined candidates of the problem in this environment.
  virtual std::vector<Quarantined> quarantined(const ProblemKey& key, std::uint64_t environment) = 0;
  // The kept trials of the problem in this environment, oldest first.
  virtual std::vector<Trial> trials(const ProblemKey& key, std::uint64_t environment) = 0;
  virtual std::optional<Binary> binary(const std::array<std::uint8_t, 16>& key) = 0;
  // Records of the operation's problems, in any environment: first those of `key`, then those that follow it in the
  // order of keys and around the end, until `limit` entries were looked at. Keys are hashes: of a store that holds
  // more, the others are a uniform sample.
  virtual std::vector<Found> sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                                    std::size_t limit) = 0;

  // Applies the changes in one durable transaction: when it returns without an error they survive a crash.
  virtual std::error_code commit(std::span<const Change> changes) = 0;

  // What other stores on the same database changed since the last call. Cheap when nothing happened: no disk access.
  virtual ForeignChanges foreign_changes() = 0;

  // Damage met since the last call.
  virtual std::vector<Damage> damage() = 0;
};

}  // namespace hone::storage
