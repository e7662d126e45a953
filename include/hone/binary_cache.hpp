// Where devices keep compiled code from one start to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hone {

// An engine gives its devices one that its database keeps. Thread-safe.
class BinaryCache {
 public:
  // A hash of all that the code depends on: source, options, architecture, compiler.
  using Key = std::array<std::uint8_t, 16>;

  virtual ~BinaryCache() = default;
  // Nothing where there is none, or where what is there is damaged.
  virtual std::optional<std::vector<std::byte>> get(const Key& key) noexcept = 0;
  // Returns at once; the code is stored in the background, and is not where that fails.
  virtual void put(const Key& key, std::span<const std::byte> code) noexcept = 0;
};

}  // namespace hone
