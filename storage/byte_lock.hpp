// Locks on single bytes of a file, between processes.
//
// POSIX record locks (fcntl): the kernel drops them with their process, however that ends; they are the same for all
// containers that share the file system; a forked child does not inherit them. They belong to the process: threads of
// one need a mutex besides. Closing any descriptor of the file drops them all.
#pragma once

#include <cstdint>

namespace hone::storage {

// False with errno when another process has the byte. `wait`: until it has not any more.
bool lock_byte(int file, std::uint64_t byte, bool wait) noexcept;
void unlock_byte(int file, std::uint64_t byte) noexcept;

// Whether another process has one of the bytes. When it cannot be told it counts as locked: nothing of a living process
// may be taken away.
bool locked_by_another(int file, std::uint64_t first, std::uint64_t count) noexcept;

}  // namespace hone::storage
