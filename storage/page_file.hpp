// Reads an LMDB data file without trusting it.
//
// LMDB follows what its pages say; a damaged page makes it abort or read outside its map, and a truncated file or a
// failing disk raises SIGBUS. So hone reads through this file: positioned reads into private memory, every page, node
// and length checked before use. Damage is an exception (DamagedPage), never a crash. LMDB itself still pins snapshots
// and does all writing, after check_structure has been over the file once.
//
// The layout is that of LMDB 0.9 (data version 1) on a little-endian 64-bit machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "storage/codec.hpp"

namespace hone::storage {

class DamagedPage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A B+ tree of the file.
struct Tree {
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  std::uint64_t root = empty;
  std::uint64_t entries = 0;
  std::uint16_t depth = 0;
};

// A consistent state of the file. Valid while a reader pins it or nobody writes.
struct Snapshot {
  std::uint64_t transaction = 0;
  std::uint64_t last_page = 0;
  std::uint64_t map_size = 0;
  Tree free;  // pages that may be reused
  Tree main;  // names of the other trees
};

// Thread-safe after construction. Does not own the descriptor.
class PageFile {
 public:
  // Reads page size and version. Throws DamagedPage when the file is no LMDB data file of a supported version.
  explicit PageFile(int descriptor);
  // For salvage from a file whose first page is damaged: takes the page size on trust.
  PageFile(int descriptor, std::size_t page_size);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  std::size_t page_size() const noexcept { return page_size_; }

  // The newest whole state, or that of the given transaction; nothing when it is already overwritten.
  // Throws DamagedPage when a meta page is damaged.
  Snapshot newest() const;
  std::optional<Snapshot> at(std::uint64_t transaction) const;

  // The named tree; nothing when the snapshot has none of that name.
  std::optional<Tree> tree(const Snapshot& snapshot, std::string_view name) const;

  // Calls `visit` for the entries with keys not below `from`, in key order, until it returns false. The views are
  // valid during the call. With `on_damage`, a damaged page is told and passed over with all that is below it.
  using Visit = std::function<bool(ByteView key, ByteView value)>;
  using OnDamage = std::function<void(const DamagedPage&)>;
  void scan(const Snapshot& snapshot, const Tree& tree, ByteView from, const Visit& visit,
            const OnDamage& on_damage = {}) const;

  // The last key; empty for an empty tree.
  Bytes last_key(const Snapshot& snapshot, const Tree& tree) const;

  // Goes over every page of the snapshot: throws DamagedPage at the first one that LMDB could not safely follow.
  // Values are not looked at. `progress` gets the pages done so far.
  void check_structure(const Snapshot& snapshot, const std::function<void(std::uint64_t)>& progress = {}) const;

  // Gives every entry of every whole leaf page in the file, reachable or not, that looks like an entry: for salvage
  // from a file whose trees are broken. Older versions of an entry may come too; transaction order is lost.
  void salvage(const Visit& visit, const std::function<void(std::uint64_t)>& progress = {}) const;
  // Bytes of the file now.
  std::uint64_t file_size() const;

 private:
  class Page;
  class StructureCheck;
  std::optional<Snapshot> parse_meta(ByteView page) const;
  Snapshot checked(const Snapshot& snapshot) const;
  void read(std::uint64_t page, std::byte* target, std::size_t bytes) const;
  // Throws unless the page is whole and of the expected kind.
  Page load(const Snapshot& snapshot, std::uint64_t page, bool leaf) const;
  // The same for a page that many lookups pass, remembered while the snapshot stays the newest one asked for.
  std::shared_ptr<const Page> load_branch(const Snapshot& snapshot, std::uint64_t page) const;
  bool scan_page(const Snapshot& snapshot, std::uint64_t page, unsigned levels, ByteView from, const Visit& visit,
                 const OnDamage& on_damage) const;
  bool scan_leaf(const Snapshot& snapshot, std::uint64_t page, ByteView from, const Visit& visit) const;
  Bytes overflow(const Snapshot& snapshot, std::uint64_t page, std::size_t size) const;

  struct Remembered {
    std::mutex mutex;
    std::uint64_t transaction = 0;
    std::uint64_t number = 0;
    std::shared_ptr<const Page> page;
  };

  int descriptor_;
  std::size_t page_size_ = 0;
  mutable std::array<Remembered, 128> branches_;
};

}  // namespace hone::storage
