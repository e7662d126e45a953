// A database file opened for going over all of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "storage/database.hpp"
#include "storage/page_file.hpp"

namespace hone::storage {

// A database that others may be writing is read from a pinned snapshot; one without a lock file is just read.
class WholeFile {
 public:
  // Throws StoreError when the file cannot be read, DamagedPage when it has no usable state.
  explicit WholeFile(const std::string& path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  const PageFile& pages() const noexcept { return *pages_; }
  const Snapshot& snapshot() const noexcept { return snapshot_; }
  std::uint64_t entries(Table table) const;
  // All entries of the table; with `on_damage`, damaged pages are passed over.
  void scan(Table table, const PageFile::Visit& visit, const PageFile::OnDamage& on_damage = {}) const;

 private:
  std::shared_ptr<Database> database_;
  std::optional<LmdbHandle::Pin> pin_;
  int descriptor_ = -1;
  std::optional<PageFile> own_pages_;
  const PageFile* pages_ = nullptr;
  Snapshot snapshot_;
};

// "" when the value can be decoded as one of the table's, else the reason.
std::string value_fault(Table table, ByteView key, ByteView value);

}  // namespace hone::storage
