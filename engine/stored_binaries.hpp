// The database as its devices' cache of compiled code.
#pragma once

#include <hone/binary_cache.hpp>
#include <hone/clock.hpp>
#include <memory>
#include <mutex>
#include <utility>

namespace hone::storage {
class Library;
}

namespace hone::engine {

// Devices, and what compiles for them, may keep it longer than its engine lives: from close() on it is empty.
class StoredBinaries final : public BinaryCache {
 public:
  StoredBinaries(storage::Library& library, std::shared_ptr<const Clock> clock)
      : library_(&library), clock_(std::move(clock)) {}

  std::optional<std::vector<std::byte>> get(const Key& key) noexcept override;
  void put(const Key& key, std::span<const std::byte> code) noexcept override;
  // Waits for a call in progress.
  void close() noexcept;

 private:
  std::mutex mutex_;
  storage::Library* library_;
  const std::shared_ptr<const Clock> clock_;
};

}  // namespace hone::engine
