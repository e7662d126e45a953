// The bytes of LMDB 0.9 pages (data version 1), little endian. See lmdb's mdb.c for the originals.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hone::storage::layout {

static_assert(std::endian::native == std::endian::little && sizeof(std::size_t) == 8,
              "LMDB files depend on byte order and word size; hone supports little-endian 64-bit machines");

inline constexpr std::uint32_t magic = 0xBEEFC0DE;
inline constexpr std::uint32_t data_version = 1;

// Page header: number (8), pad (2), flags (2), lower (2) and upper (2) or count of overflow pages (4).
inline constexpr std::size_t page_header = 16;
inline constexpr std::size_t flags_offset = 10;
inline constexpr std::size_t lower_offset = 12;
inline constexpr std::size_t upper_offset = 14;
inline constexpr std::size_t pages_offset = 12;
inline constexpr std::uint16_t branch_page = 0x01;
inline constexpr std::uint16_t leaf_page = 0x02;
inline constexpr std::uint16_t overflow_page = 0x04;
inline constexpr std::uint16_t meta_page = 0x08;

// Node: low (2) and high (2) half of the value's size or of the child's page, flags (2, page bits 32..47 in a branch),
// key size (2), key, value.
inline constexpr std::size_t node_header = 8;
inline constexpr std::uint16_t big_data =
    0x01;  // the value lies in overflow pages; the node has the first one's number
inline constexpr std::uint16_t sub_data = 0x02;  // the value is the description of a tree
inline constexpr std::uint16_t duplicates = 0x04;
inline constexpr std::size_t max_key_size = 511;
inline constexpr unsigned max_depth = 32;

// Meta, after the page header: magic (4), version (4), address (8), map size (8), two trees, last page (8),
// transaction (8).
inline constexpr std::size_t meta_map_size = page_header + 16;
inline constexpr std::size_t meta_free = page_header + 24;
inline constexpr std::size_t tree_size = 48;
inline constexpr std::size_t meta_main = meta_free + tree_size;
inline constexpr std::size_t meta_last_page = meta_main + tree_size;
inline constexpr std::size_t meta_transaction = meta_last_page + 8;
inline constexpr std::size_t meta_end = meta_transaction + 8;

// Tree: pad or page size (4), flags (2), depth (2), counts of branch, leaf and overflow pages (8 each), entries (8),
// root (8).
inline constexpr std::size_t tree_flags = 4;
inline constexpr std::size_t tree_depth = 6;
inline constexpr std::size_t tree_entries = 32;
inline constexpr std::size_t tree_root = 40;

template <class T>
T get(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace hone::storage::layout
