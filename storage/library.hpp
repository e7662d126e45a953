// All that an engine remembers: the user database, the system databases under it, and memory when a disk fails.
//
// A Library never fails and never throws after its construction: what cannot be stored is kept in memory and written
// when the store works again.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <hone/environment.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "storage/record.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// How one database does.
struct StoreHealth {
  std::string path;
  bool degraded = false;  // user database: what is new stays in memory; system database: left out
  std::error_code error;  // why it is degraded
  std::string cause;
  std::string remedy;
};

struct LibraryOptions {
  // Directory of the user database, made when missing; "": nothing is stored, which is not a degradation.
  std::string user_database;
  // Read-only databases (directory or file), asked in this order.
  std::vector<std::string> system_databases;
  // Called when a database's health changes, one call at a time, on the library's own thread; never inside a call of
  // the library. Must not destroy the library. Databases that are well when opened are not reported.
  std::function<void(const StoreHealth&)> on_health;
  // A degraded user database is tried again this often.
  std::chrono::nanoseconds retry_interval = std::chrono::seconds(5);
  // How long the destructor waits for what is pending to be committed. A commit in flight is always waited for.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
};

// A right to measure on a device, alone among the processes that share the database. Released by destruction, and by
// the kernel when the process ends. Movable; safe to destroy on any thread, also after the library.
class DeviceLease {
 public:
  DeviceLease() noexcept = default;
  explicit DeviceLease(std::shared_ptr<void> held) noexcept : held_(std::move(held)) {}
  explicit operator bool() const noexcept { return held_ != nullptr; }

 private:
  std::shared_ptr<void> held_;
};

// All members are thread-safe, and noexcept where they say so: a failure inside is degradation or damage. After fork
// the child's copy answers nothing and stores nothing: submit calls `done` with Errc::forked inside the call, the
// others return Errc::forked or what means "nothing".
class Library {
 public:
  // Opens the databases and starts one thread. Trouble with a database is health, not an exception.
  explicit Library(LibraryOptions options);
  // Commits what is pending, see shutdown_timeout; what could not be committed by then gets Errc::shut_down.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // The user record for the problem in the nearest environment (match == same: measured or accepted here; otherwise a
  // hint). Microseconds; waits for no writer.
  std::optional<Found> find(const ProblemKey& key, std::string_view problem, const Environment& environment) noexcept;
  // The record of the first system database that has one, in the nearest environment.
  std::optional<Found> find_system(const ProblemKey& key, std::string_view problem,
                                   const Environment& environment) noexcept;
  // Candidates that must not run: quarantined by submit, or found as attempts of a process that died.
  std::vector<Quarantined> quarantined(const ProblemKey& key, std::uint64_t environment) noexcept;
  // The user database's kept trials, oldest first.
  std::vector<Trial> trials(const ProblemKey& key, std::uint64_t environment) noexcept;
  // Records of the operation's problems, in any environment, those of `key` first: at most `limit` entries of each
  // database are looked at, see Store::sample. Microseconds for each.
  std::vector<Found> sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                            std::size_t limit) noexcept;
  // A compiled code object from the user database, else from the system databases.
  std::optional<Binary> binary(const std::array<std::uint8_t, 16>& key) noexcept;

  // Stores the changes as one transaction, together with others that wait. Returns at once. `done` is called exactly
  // once on the library's thread, in the order of submission, and must not block for long or throw: with no error when
  // the changes are durable (or nothing is to be stored, user_database == ""); with the store's error when they are
  // kept in memory only - find answers them from then on, and they are written when the store works again.
  void submit(std::vector<Change> changes, std::function<void(std::error_code)> done = {}) noexcept;
  // Waits until everything submitted before has called its `done`; false when `timeout` came first.
  bool flush(std::chrono::nanoseconds timeout) noexcept;

  // Crash marker: `begin_attempt` before a candidate's first run in this process, `end_attempt` after it came back.
  // Costs microseconds (no disk flush) and survives the end of the process, not necessarily that of the system. A
  // marker whose process is gone becomes a quarantine at the next opening of the database by anybody.
  std::error_code begin_attempt(const ProblemKey& key, std::string_view problem, std::uint64_t environment,
                                const Candidate& candidate) noexcept;
  std::error_code end_attempt(const ProblemKey& key, std::uint64_t environment, const Candidate& candidate) noexcept;

  // A lease on tuning the problem in the environment: true when this library holds it until `duration` from now. Taking
  // it again renews it. Another process's claim ends with its process, its release or its duration, whatever is first.
  // Without a working user database every claim is granted.
  bool claim(const ProblemKey& key, std::uint64_t environment, std::chrono::nanoseconds duration) noexcept;
  void release(const ProblemKey& key, std::uint64_t environment) noexcept;

  // The right to measure on `device` (a name that means the same device to all processes on this machine), or an empty
  // lease while another library or process has it.
  DeviceLease lease_device(std::string_view device) noexcept;

  // What other processes changed since the last call. Tens of nanoseconds when nothing happened.
  ForeignChanges foreign_changes() noexcept;

  // Damage met since the last call, in all databases; each is reported once.
  std::vector<Damage> damage() noexcept;

  // The user database's health now.
  StoreHealth health() const;
  // Tries a degraded user database again now, and returns when that is done. For programs that know that the trouble is
  // over, and for tests.
  void retry() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone::storage
