#include "engine/stored_binaries.hpp"

#include <new>

#include "engine/log.hpp"
#include "storage/library.hpp"

namespace hone::engine {

std::optional<std::vector<std::byte>> StoredBinaries::get(const Key& key) noexcept {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr) return {};
  try {
    const auto stored = library_->binary(key);
    if (!stored) return {};
    const auto* bytes = reinterpret_cast<const std::byte*>(stored->code.data());
    return std::vector<std::byte>(bytes, bytes + stored->code.size());
  } catch (const std::bad_alloc&) {
    return {};  // then it is compiled, or fails in its turn
  }
}

void StoredBinaries::put(const Key& key, std::span<const std::byte> code) noexcept {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr) return;
  try {
    storage::Binary binary{.key = key};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    binary.code.assign(bytes, bytes + code.size());
    binary.date = clock_->date();
    library_->submit({storage::PutBinary{std::move(binary)}});
  } catch (const std::bad_alloc&) {
    log().warn("compiled code is not kept: no memory");
  }
}

void StoredBinaries::close() noexcept {
  const std::lock_guard lock(mutex_);
  library_ = nullptr;
}

}  // namespace hone::engine
