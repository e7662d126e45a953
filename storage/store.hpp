// The store as the engine sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <hone/environment.hpp>
#include <optional>
#include <span>
#include <string>
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

// One change; a commit applies all of its changes or none.
struct PutEnvironment {
  Environment environment;
};
struct PutRecord {
  Record record;
};
struct PutTrial {
  Trial trial;
};
struct PutQuarantine {
  Quarantined quarantined;
};
// Removes the record, trials and quarantine of a problem in an environment.
struct Forget {
  ProblemKey key;
  std::uint64_t environment = 0;
};
using Change = std::variant<PutEnvironment, PutRecord, PutTrial, PutQuarantine, Forget>;

// Something wrong that a read met; each is reported once.
struct Damage {
  std::string where;  // named database and key
  std::string what;
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

  // Applies the changes in one durable transaction: when it returns without an error they survive a crash.
  virtual std::error_code commit(std::span<const Change> changes) = 0;

  // Crash markers: `begin_attempt` before a candidate's first run, `end_attempt` after it came back. A marker that is
  // found when the store is opened, and that no living process holds, becomes a quarantine. Survive the end of the
  // process, not necessarily that of the system.
  virtual std::error_code begin_attempt(const ProblemKey& key, std::uint64_t environment,
                                        const Candidate& candidate) = 0;
  virtual std::error_code end_attempt(const ProblemKey& key, std::uint64_t environment, const Candidate& candidate) = 0;

  // A lease on tuning the problem: true when this store holds it until `duration` from now. Taking it again renews it.
  virtual bool claim(const ProblemKey& key, std::uint64_t environment, std::chrono::nanoseconds duration) = 0;
  virtual void release(const ProblemKey& key, std::uint64_t environment) = 0;

  // The keys whose records other processes changed since the last call. Cheap when nothing happened: no disk access.
  virtual std::vector<ProblemKey> foreign_changes() = 0;

  // Damage met since the last call.
  virtual std::vector<Damage> damage() = 0;
};

}  // namespace hone::storage
