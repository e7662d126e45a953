#include "storage/byte_lock.hpp"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace hone::storage {
namespace {

struct flock description(short type, std::uint64_t first, std::uint64_t count) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(first);
  lock.l_len = static_cast<off_t>(count);
  return lock;
}

}  // namespace

bool lock_byte(int file, std::uint64_t byte, bool wait) noexcept {
  for (;;) {
    struct flock lock = description(F_WRLCK, byte, 1);
    if (::fcntl(file, wait ? F_SETLKW : F_SETLK, &lock) == 0) return true;
    // The kernel takes the threads of a process for one, and so sees dead locks where different threads hold and wait.
    if (errno == EDEADLK) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (errno != EINTR) {
      return false;
    }
  }
}

void unlock_byte(int file, std::uint64_t byte) noexcept {
  struct flock lock = description(F_UNLCK, byte, 1);
  ::fcntl(file, F_SETLK, &lock);
}

bool locked_by_another(int file, std::uint64_t first, std::uint64_t count) noexcept {
  struct flock lock = description(F_WRLCK, first, count);
  return ::fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace hone::storage
