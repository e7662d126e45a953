#include "storage/page_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "storage/page.hpp"

namespace hone::storage {

using layout::get;

int compare_keys(ByteView a, ByteView b) noexcept {
  const std::size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

PageFile::Page::Page(std::unique_ptr<std::byte[]> bytes, std::size_t page_size, std::uint64_t number, bool leaf)
    : bytes_(std::move(bytes)), page_size_(page_size), number_(number), leaf_(leaf) {
  if (get<std::uint64_t>(bytes_.get()) != number) fail("has another page's number");
  const auto flags = get<std::uint16_t>(bytes_.get() + layout::flags_offset);
  if (flags != (leaf ? layout::leaf_page : layout::branch_page)) fail("is of the wrong kind");
  const std::size_t lower = get<std::uint16_t>(bytes_.get() + layout::lower_offset);
  upper_ = get<std::uint16_t>(bytes_.get() + layout::upper_offset);
  if (lower < layout::page_header || lower % 2 != 0 || upper_ < lower || upper_ > page_size) {
    fail("has impossible bounds");
  }
  count_ = (lower - layout::page_header) / 2;
  if (count_ < (leaf ? 1u : 2u)) fail("has too few entries");
}

void PageFile::Page::fail(const char* what) const { throw DamagedPage(fmt::format("page {} {}", number_, what)); }

PageFile::Page::Node PageFile::Page::node(std::size_t index) const {
  const std::size_t offset = get<std::uint16_t>(bytes_.get() + layout::page_header + 2 * index);
  if (offset < upper_ || offset % 2 != 0 || offset + layout::node_header > page_size_) fail("has an entry outside it");
  const std::byte* bytes = bytes_.get() + offset;
  const std::uint32_t low = get<std::uint16_t>(bytes) | std::uint32_t{get<std::uint16_t>(bytes + 2)} << 16;
  const auto flags = get<std::uint16_t>(bytes + 4);
  const std::size_t key_size = get<std::uint16_t>(bytes + 6);
  const std::size_t room = page_size_ - offset - layout::node_header;
  if (key_size > layout::max_key_size || key_size > room) fail("has a key outside it");
  Node node;
  node.key = {bytes + layout::node_header, key_size};
  if (!leaf_) {
    node.page = low | std::uint64_t{flags} << 32;
    return node;
  }
  node.size = low;
  node.flags = flags;
  if ((flags & ~(layout::big_data | layout::sub_data)) != 0) fail("has an entry of an unknown kind");
  const std::byte* value = node.key.data() + key_size;
  if (flags & layout::big_data) {
    if (room - key_size < 8) fail("has a value outside it");
    node.page = get<std::uint64_t>(value);
  } else {
    if (node.size > room - key_size) fail("has a value outside it");
    node.inline_value = {value, node.size};
  }
  return node;
}

std::size_t PageFile::Page::lower_bound(ByteView key) const {
  // The first key of a branch page stands for "everything below" and is not compared.
  std::size_t low = leaf_ ? 0 : 1, high = count_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const int order = compare_keys(node(middle).key, key);
    if (order < 0 || (!leaf_ && order == 0)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return leaf_ ? low : low - 1;
}

PageFile::~PageFile() = default;

PageFile::PageFile(int descriptor, std::size_t page_size) : descriptor_(descriptor), page_size_(page_size) {}

PageFile::PageFile(int descriptor) : descriptor_(descriptor) {
  std::byte head[layout::meta_end];
  read(0, head, sizeof head);
  if (get<std::uint32_t>(head + layout::page_header) != layout::magic) throw DamagedPage("it is no LMDB file");
  const auto version = get<std::uint32_t>(head + layout::page_header + 4);
  if (version != layout::data_version) throw DamagedPage(fmt::format("its LMDB data version is {}, not 1", version));
  page_size_ = get<std::uint32_t>(head + layout::meta_free);
  if (page_size_ < 512 || page_size_ > 65536 || (page_size_ & (page_size_ - 1)) != 0) {
    throw DamagedPage("page 0 has an impossible page size");
  }
}

std::uint64_t PageFile::file_size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw DamagedPage("the file's size cannot be read");
  return static_cast<std::uint64_t>(status.st_size);
}

void PageFile::read(std::uint64_t page, std::byte* target, std::size_t bytes) const {
  auto offset = static_cast<off_t>(page * page_size_);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, target, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DamagedPage(fmt::format("page {} cannot be read: {}", page, std::strerror(errno)));
    if (got == 0) throw DamagedPage(fmt::format("the file ends before page {} does", page));
    target += got;
    bytes -= static_cast<std::size_t>(got);
    offset += got;
  }
}

std::optional<Snapshot> PageFile::parse_meta(ByteView page) const {
  const std::byte* bytes = page.data();
  if (get<std::uint32_t>(bytes + layout::page_header) != layout::magic ||
      get<std::uint32_t>(bytes + layout::page_header + 4) != layout::data_version) {
    return {};
  }
  const auto tree = [bytes](std::size_t offset) {
    return Tree{get<std::uint64_t>(bytes + offset + layout::tree_root),
                get<std::uint64_t>(bytes + offset + layout::tree_entries),
                get<std::uint16_t>(bytes + offset + layout::tree_depth)};
  };
  Snapshot snapshot;
  snapshot.map_size = get<std::uint64_t>(bytes + layout::meta_map_size);
  snapshot.last_page = get<std::uint64_t>(bytes + layout::meta_last_page);
  snapshot.transaction = get<std::uint64_t>(bytes + layout::meta_transaction);
  snapshot.free = tree(layout::meta_free);
  snapshot.main = tree(layout::meta_main);
  if (get<std::uint32_t>(bytes + layout::meta_free) != page_size_) return {};
  return snapshot;
}

Snapshot PageFile::checked(const Snapshot& snapshot) const {
  constexpr std::uint64_t most_pages = std::uint64_t{1} << 47;
  if (snapshot.last_page < 1 || snapshot.last_page >= most_pages / page_size_) {
    throw DamagedPage("a meta page has an impossible last page");
  }
  if ((snapshot.last_page + 1) * page_size_ > snapshot.map_size) {
    throw DamagedPage("a meta page has an impossible map size");
  }
  for (const Tree& tree : {snapshot.free, snapshot.main}) {
    if (tree.root != Tree::empty && (tree.root < 2 || tree.root > snapshot.last_page || tree.depth < 1)) {
      throw DamagedPage("a meta page has an impossible root");
    }
    if (tree.depth > layout::max_depth) throw DamagedPage("a meta page has an impossible depth");
  }
  return snapshot;
}

Snapshot PageFile::newest() const {
  std::byte head[layout::meta_end];
  std::optional<Snapshot> best;
  for (std::uint64_t page : {0u, 1u}) {
    read(page, head, sizeof head);
    const std::optional<Snapshot> meta = parse_meta(head);
    if (!meta) throw DamagedPage(fmt::format("meta page {} is not one", page));
    if (!best || meta->transaction > best->transaction) best = meta;
  }
  // The file may be shorter than last_page says: pages allocated and given back in one transaction are never written.
  checked(*best);
  return *best;
}

std::optional<Snapshot> PageFile::at(std::uint64_t transaction) const {
  std::byte head[layout::meta_end];
  read(transaction & 1, head, sizeof head);
  const std::optional<Snapshot> meta = parse_meta(head);
  if (!meta) throw DamagedPage(fmt::format("meta page {} is not one", transaction & 1));
  if (meta->transaction != transaction) return {};
  return checked(*meta);
}

PageFile::Page PageFile::load(const Snapshot& snapshot, std::uint64_t page, bool leaf) const {
  if (page < 2 || page > snapshot.last_page) throw DamagedPage(fmt::format("page {} does not exist", page));
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(page_size_);
  read(page, bytes.get(), page_size_);
  return Page(std::move(bytes), page_size_, page, leaf);
}

std::optional<Tree> PageFile::tree(const Snapshot& snapshot, std::string_view name) const {
  std::optional<Tree> found;
  const ByteView wanted = std::as_bytes(std::span(name));
  scan(snapshot, snapshot.main, wanted, [&](ByteView key, ByteView value) {
    if (compare_keys(key, wanted) != 0) return false;
    if (value.size() != layout::tree_size) throw DamagedPage("the description of a tree has the wrong size");
    Tree tree{get<std::uint64_t>(value.data() + layout::tree_root),
              get<std::uint64_t>(value.data() + layout::tree_entries),
              get<std::uint16_t>(value.data() + layout::tree_depth)};
    if (tree.depth > layout::max_depth || (tree.root != Tree::empty && tree.depth < 1)) {
      throw DamagedPage("the description of a tree has an impossible depth");
    }
    found = tree;
    return false;
  });
  return found;
}

std::shared_ptr<const PageFile::Page> PageFile::load_branch(const Snapshot& snapshot, std::uint64_t page) const {
  Remembered& place = branches_[page % branches_.size()];
  {
    std::lock_guard lock(place.mutex);
    if (place.page && place.number == page && place.transaction == snapshot.transaction) return place.page;
  }
  auto loaded = std::make_shared<const Page>(load(snapshot, page, false));
  std::lock_guard lock(place.mutex);
  if (snapshot.transaction >= place.transaction) {
    place.page = loaded;
    place.number = page;
    place.transaction = snapshot.transaction;
  }
  return loaded;
}

void PageFile::scan(const Snapshot& snapshot, const Tree& tree, ByteView from, const Visit& visit,
                    const OnDamage& on_damage) const {
  if (tree.root == Tree::empty) return;
  scan_page(snapshot, tree.root, tree.depth, from, visit, on_damage);
}

bool PageFile::scan_page(const Snapshot& snapshot, std::uint64_t number, unsigned levels, ByteView from,
                         const Visit& visit, const OnDamage& on_damage) const {
  try {
    if (levels == 1) return scan_leaf(snapshot, number, from, visit);
    const std::shared_ptr<const Page> page = load_branch(snapshot, number);
    for (std::size_t index = page->lower_bound(from); index < page->count(); ++index) {
      if (!scan_page(snapshot, page->node(index).page, levels - 1, from, visit, on_damage)) return false;
    }
  } catch (const DamagedPage& damaged) {
    if (!on_damage) throw;
    on_damage(damaged);
  }
  return true;
}

bool PageFile::scan_leaf(const Snapshot& snapshot, std::uint64_t number, ByteView from, const Visit& visit) const {
  const Page page = load(snapshot, number, true);
  for (std::size_t index = page.lower_bound(from); index < page.count(); ++index) {
    const Page::Node node = page.node(index);
    if (node.flags & layout::big_data) {
      const Bytes value = overflow(snapshot, node.page, node.size);
      if (!visit(node.key, value)) return false;
    } else if (!visit(node.key, node.inline_value)) {
      return false;
    }
  }
  return true;
}

Bytes PageFile::overflow(const Snapshot& snapshot, std::uint64_t page, std::size_t size) const {
  const std::uint64_t pages = (layout::page_header - 1 + size) / page_size_ + 1;
  if (page < 2 || page > snapshot.last_page || pages > snapshot.last_page - page + 1) {
    throw DamagedPage(fmt::format("overflow page {} does not exist", page));
  }
  Bytes bytes(layout::page_header + size);
  read(page, bytes.data(), bytes.size());
  if (get<std::uint64_t>(bytes.data()) != page ||
      get<std::uint16_t>(bytes.data() + layout::flags_offset) != layout::overflow_page ||
      get<std::uint32_t>(bytes.data() + layout::pages_offset) < pages) {
    throw DamagedPage(fmt::format("overflow page {} is not one", page));
  }
  bytes.erase(bytes.begin(), bytes.begin() + layout::page_header);
  return bytes;
}

Bytes PageFile::last_key(const Snapshot& snapshot, const Tree& tree) const {
  if (tree.root == Tree::empty) return {};
  std::uint64_t number = tree.root;
  for (unsigned levels = tree.depth; levels > 0; --levels) {
    const Page page = load(snapshot, number, levels == 1);
    const Page::Node node = page.node(page.count() - 1);
    if (levels == 1) return Bytes(node.key.begin(), node.key.end());
    number = node.page;
  }
  return {};
}

void PageFile::salvage(const Visit& visit, const std::function<void(std::uint64_t)>& progress) const {
  const std::uint64_t pages = file_size() / page_size_;
  if (pages < 3) return;
  Snapshot all;
  all.last_page = pages - 1;
  for (std::uint64_t number = 2; number < pages; ++number) {
    if (progress && number % 256 == 0) progress(number);
    try {
      const Page page = load(all, number, true);
      for (std::size_t index = 0; index < page.count(); ++index) {
        try {
          const Page::Node node = page.node(index);
          const bool big = (node.flags & layout::big_data) != 0;
          const Bytes value = big ? overflow(all, node.page, node.size) : Bytes();
          visit(node.key, big ? ByteView(value) : node.inline_value);
        } catch (const DamagedPage&) {
          continue;  // the entries around it may be whole
        }
      }
    } catch (const DamagedPage&) {
      continue;  // no leaf, or not whole: nothing to be had
    }
  }
}

}  // namespace hone::storage
