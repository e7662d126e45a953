// Typed reading of a snapshot of a database file, with damage set aside.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "storage/database.hpp"
#include "storage/page_file.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// Collects damage; each place is reported once. Thread-safe.
class DamageLog {
 public:
  explicit DamageLog(std::string path) : path_(std::move(path)) {}
  void add(std::string where, std::string what) noexcept;
  std::vector<Damage> take();
  // Forgets what was added since then, so that it is reported when it is met again: what looked like damage was read
  // while it changed.
  std::size_t mark();
  void forget_since(std::size_t mark);

 private:
  static constexpr std::size_t most_places = 10000;
  std::string path_;
  std::mutex mutex_;
  std::set<std::string> reported_;
  std::vector<Damage> fresh_;
};

// Thread-safe. `file` must outlive it.
class DatabaseReader {
 public:
  DatabaseReader(const PageFile& file, std::string path) : file_(file), damage_(std::move(path)) {}

  std::optional<Found> find(const Snapshot& snapshot, const ProblemKey& key, std::string_view problem,
                            const Environment& environment);
  std::vector<Quarantined> quarantined(const Snapshot& snapshot, const ProblemKey& key, std::uint64_t environment);
  std::vector<Trial> trials(const Snapshot& snapshot, const ProblemKey& key, std::uint64_t environment);
  std::vector<Found> sample(const Snapshot& snapshot, const ProblemKey& key, std::string_view operation,
                            const Environment& here, std::size_t limit);
  std::optional<Binary> binary(const Snapshot& snapshot, const std::array<std::uint8_t, 16>& key);
  std::optional<Environment> environment(const Snapshot& snapshot, std::uint64_t id);

  // Calls `visit` for every entry of the table from the key on, until it returns false. Throws DamagedPage.
  void scan(const Snapshot& snapshot, Table table, ByteView from, const PageFile::Visit& visit);
  // The last key of the table; empty when the table is. Throws DamagedPage.
  Bytes last_key(const Snapshot& snapshot, Table table);

  DamageLog& damage() noexcept { return damage_; }
  const PageFile& file() const noexcept { return file_; }

 private:
  struct Roots {
    std::uint64_t transaction = ~std::uint64_t{0};
    std::array<std::optional<std::optional<Tree>>, table_names.size()> trees;  // those that were asked for
  };
  // Trees of the snapshot, remembered for the last one asked for.
  std::optional<Tree> tree(const Snapshot& snapshot, Table table);
  template <class Value, class Decode>
  std::vector<Value> collect(const Snapshot& snapshot, Table table, ByteView prefix, Decode decode);

  const PageFile& file_;
  DamageLog damage_;
  std::shared_mutex mutex_;
  Roots roots_;
  std::map<std::uint64_t, Environment> environments_;
};

// "records 0123...": a table and a key, for reports.
std::string place(Table table, ByteView key);

}  // namespace hone::storage
