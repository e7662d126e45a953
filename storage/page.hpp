// One checked page of an LMDB file in private memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/page_file.hpp"
#include "storage/page_layout.hpp"

namespace hone::storage {

// Accessors check what they touch and throw DamagedPage.
class PageFile::Page {
 public:
  struct Node {
    ByteView key;
    ByteView inline_value;    // leaf, unless big
    std::uint64_t page = 0;   // branch: child; leaf: first overflow page
    std::uint32_t size = 0;   // leaf: bytes of the value
    std::uint16_t flags = 0;  // leaf
  };

  Page(std::unique_ptr<std::byte[]> bytes, std::size_t page_size, std::uint64_t number, bool leaf);

  std::size_t count() const noexcept { return count_; }
  bool leaf() const noexcept { return leaf_; }
  Node node(std::size_t index) const;
  // Leaf: the first entry whose key is not below `key`. Branch: the child that holds it.
  std::size_t lower_bound(ByteView key) const;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t page_size_;
  std::uint64_t number_;
  bool leaf_;
  std::size_t upper_ = 0;
  std::size_t count_ = 0;
};

// memcmp, then length: LMDB's default order.
int compare_keys(ByteView a, ByteView b) noexcept;

}  // namespace hone::storage
