// File systems on which LMDB must not be used.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone::storage {

// The name of the network file system with this statfs type; nothing for a local one. FUSE counts as one: locks and
// shared maps cannot be relied upon there.
std::optional<std::string_view> network_file_system(long type) noexcept;

// The statfs type of the path, or of its nearest existing parent; 0 when it cannot be told.
long file_system_type(const std::string& path);

// Makes the file at least `bytes` long with disk blocks behind every byte, so that writing through a map cannot fail.
// False with errno when that is not possible.
bool reserve_blocks(const std::string& path, long bytes);

}  // namespace hone::storage
