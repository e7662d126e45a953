// One open LMDB environment: pinned snapshots for reading, transactions for writing, a map that grows by itself.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "storage/page_file.hpp"

namespace hone::storage {

// LMDB's codes and errno values, with LMDB's messages.
std::error_code lmdb_error(int code) noexcept;

inline MDB_val to_value(ByteView bytes) noexcept {
  return {bytes.size(), const_cast<void*>(static_cast<const void*>(bytes.data()))};
}
inline ByteView to_bytes(const MDB_val& value) noexcept {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

// A byte of a file that is locked while a process writes. LMDB's own mutex names its owner by the number of its thread,
// which means another thread in another container: when that is killed while it waits, the kernel gives the mutex away
// under its owner. So nobody may wait there. No file: only LMDB's mutex.
struct WriterLock {
  int file = -1;
  std::uint64_t byte = 0;
};

struct LmdbOptions {
  std::string path;                // of the data file
  std::string lock_path;           // of LMDB's lock file, as LMDB derives it from `path` and `flags`
  unsigned flags = 0;              // besides MDB_NOTLS
  std::size_t map_size = 1 << 24;  // bytes at first
  WriterLock writer_lock = {};
};

// Thread-safe. At most one in a process for each file.
class LmdbHandle {
 public:
  // Opens or makes the file; opens or makes the named trees. Throws std::system_error.
  LmdbHandle(const LmdbOptions& options, std::span<const char* const> trees);
  ~LmdbHandle();
  LmdbHandle(const LmdbHandle&) = delete;
  LmdbHandle& operator=(const LmdbHandle&) = delete;

  // A snapshot that no writer takes away while this lives.
  class Pin {
   public:
    Pin(LmdbHandle& handle, MDB_txn* transaction, const Snapshot& snapshot) noexcept
        : handle_(&handle), transaction_(transaction), snapshot_(snapshot) {}
    Pin(Pin&& other) noexcept;
    Pin& operator=(Pin&&) = delete;
    ~Pin();
    const Snapshot& snapshot() const noexcept { return snapshot_; }
    // Whether all that was read of the snapshot so far is of one state.
    bool intact() const;

   private:
    friend class LmdbHandle;
    LmdbHandle* handle_;
    MDB_txn* transaction_;  // null: could not be pinned, see pin()
    Snapshot snapshot_;
  };
  // Waits for no writer. The snapshot is not pinned in the rare moment when the map must grow first and a writer is
  // using it, and in a process whose number another one has too (in another container): LMDB names readers by it. Pages
  // may then change under the reader, which page checks and checksums notice, and intact() tells. Throws DamagedPage or
  // std::system_error.
  Pin pin();

  // Runs `change` in a write transaction and commits it durably; again when the map was too small. `change` returns an
  // LMDB code and must have no other effects; when it throws, nothing is changed. Before the first one, the file's
  // structure is checked as a whole.
  std::error_code write(const std::function<int(MDB_txn*)>& change);
  // What the structure check found; "" when nothing.
  std::string damage() const;

  // Number of the last committed transaction, of any process. No system call.
  std::uint64_t last_transaction() const noexcept;

  MDB_dbi tree(std::size_t index) const noexcept { return trees_[index]; }
  const PageFile& pages() const noexcept { return *pages_; }
  // Removes the reader slots of processes that are gone.
  void sweep_readers() noexcept;

 private:
  struct CloseEnvironment {
    void operator()(MDB_env* environment) const noexcept { mdb_env_close(environment); }
  };
  void open_trees(std::span<const char* const> trees);
  std::error_code check_structure();
  std::error_code write_locked(const std::function<int(MDB_txn*)>& change);
  MDB_txn* take_reader(int& code);
  void give_back(MDB_txn* transaction) noexcept;
  int resize(std::size_t bytes);

  // Held shared while LMDB may look at the map, exclusively while the map moves. Readers hold it for an instant.
  mutable std::shared_mutex map_mutex_;
  std::mutex write_mutex_;
  const WriterLock writer_lock_;
  std::mutex readers_mutex_;
  std::vector<MDB_txn*> readers_;  // idle
  mutable std::mutex damage_mutex_;
  std::string damage_;
  bool checked_ = false;  // guarded by write_mutex_
  std::vector<MDB_dbi> trees_;
  std::unique_ptr<PageFile> pages_;
  std::unique_ptr<MDB_env, CloseEnvironment> environment_;
};

}  // namespace hone::storage
