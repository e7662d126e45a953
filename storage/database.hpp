// A user database that is open: its directory, its trees and this process's session in it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "storage/fork_guard.hpp"
#include "storage/lmdb_handle.hpp"
#include "storage/session.hpp"

namespace hone::storage {

// Of the values and keys, see FORMAT.md.
inline constexpr unsigned format_version = 1;
inline constexpr std::string_view format_key = "format";  // of `meta`

struct MigrationStep;
std::span<const MigrationStep> migration_steps() noexcept;  // see migration.hpp

// The named databases of the data file.
enum class Table : std::size_t { meta, environments, problems, records, trials, quarantine, binaries, commits };
inline constexpr std::array<const char*, 8> table_names{"meta",   "environments", "problems", "records",
                                                        "trials", "quarantine",   "binaries", "commits"};

// The data file of a database: the path itself, or data.mdb in it when it is a directory.
std::string data_file(const std::string& path);

// The format of a hone database, which may be newer than format_version. Throws StoreError when the file is none, and
// DamagedPage.
unsigned read_format(const PageFile& pages, const std::string& path);

struct DatabaseOptions {
  std::size_t map_size = 1 << 24;  // bytes at first; it grows
  // Tells the statfs type of a path; tests put another in its place.
  std::function<long(const std::string&)> file_system_type;
  // The format that is written, and the ways to it from older ones; tests put others in their place.
  unsigned format = format_version;
  std::span<const MigrationStep> steps = migration_steps();
};

// Thread-safe.
class Database {
 public:
  // Opens the directory's database, or makes it when the directory is missing or empty. In one process everybody who
  // opens the same directory gets the same object: LMDB allows one environment for each file. Throws StoreError and
  // then has touched nothing that was there.
  static std::shared_ptr<Database> open(const std::string& directory, const DatabaseOptions& options = {});
  Database(std::string directory, const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& directory() const noexcept { return directory_; }
  bool forked() const noexcept { return guard_.forked(); }
  LmdbHandle& data() noexcept { return *data_; }
  Session& session() noexcept { return *session_; }
  MDB_dbi table(Table table) const noexcept { return data_->tree(static_cast<std::size_t>(table)); }
  // False when the data file was removed or replaced since it was opened: what is written there is lost.
  bool in_place() const noexcept;

 private:
  void open_data(const DatabaseOptions& options);
  void migrate_from(unsigned format, const DatabaseOptions& options);

  ForkGuard guard_;
  std::string directory_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::unique_ptr<Session> session_;
  std::unique_ptr<LmdbHandle> data_;
};

}  // namespace hone::storage
