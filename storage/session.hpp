// What a process holds while it lives: attempts, claims and devices.
//
// A session is alive exactly as long as its process holds the lock on the session's byte of the file `sessions`. The
// kernel ends such a lock with the process, however it ends, and all containers that share the file system see the same
// locks: no process ids, no clocks, no heartbeats. Attempts and claims lie in an LMDB environment of their own that is
// never flushed: what one process wrote others see, and it outlives the process; after a crash of the system it is made
// anew if it was damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "storage/codec.hpp"
#include "storage/fork_guard.hpp"
#include "storage/lmdb_handle.hpp"

namespace hone::storage {

// Thread-safe. At most one in a process for each directory.
class Session {
 public:
  // Throws std::system_error or DamagedPage.
  explicit Session(std::string directory);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Another process has this directory's database open.
  bool others_alive() const noexcept;
  // From now on others wait in their constructor until this session ends or allows it. False when that cannot be had.
  bool exclude_openings() noexcept;
  void allow_openings() noexcept;

  // Of the database's data file.
  WriterLock data_writer_lock() const noexcept;

  std::error_code begin_attempt(const Quarantined& attempted);
  std::error_code end_attempt(const ProblemKey& key, std::uint64_t environment, const Candidate& candidate);
  // Attempts of sessions that are gone. They stay until they are forgotten.
  std::vector<Attempt> abandoned();
  std::error_code forget(const std::vector<Attempt>& attempts);

  // `store` tells the claimants of one process apart. `now` and `duration` are of the machine's monotonic clock.
  bool claim(const ProblemKey& key, std::uint64_t environment, std::uint64_t store, std::chrono::nanoseconds now,
             std::chrono::nanoseconds duration);
  void release(const ProblemKey& key, std::uint64_t environment, std::uint64_t store);
  void release_all(std::uint64_t store);

  // False when somebody else, in this process or another, has the device.
  bool lock_device(std::string_view device);
  void unlock_device(std::string_view device) noexcept;

 private:
  std::vector<Attempt> abandoned_at(const Snapshot& snapshot) const;
  bool alive(std::uint64_t session) const noexcept;
  void open_environment(const std::string& directory);

  ForkGuard guard_;
  int locks_ = -1;
  std::uint64_t id_ = 0;
  std::unique_ptr<LmdbHandle> environment_;
  std::mutex devices_mutex_;
  std::set<std::string, std::less<>> devices_;
};

}  // namespace hone::storage
