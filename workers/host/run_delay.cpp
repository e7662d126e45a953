#include "workers/host/run_delay.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace hone::workers::host {

RunDelay::~RunDelay() {
  if (file_ >= 0) close(file_);
}

void RunDelay::open_for(pid_t thread) noexcept {
  if (file_ >= 0) close(file_);
  file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  thread_ = thread;
}

std::chrono::nanoseconds RunDelay::total() noexcept {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  if (thread != thread_) open_for(thread);
  if (file_ < 0) return {};
  // "time on a processor, time waiting for one, slices", nanoseconds.
  std::array<char, 96> text{};
  const ssize_t length = pread(file_, text.data(), text.size(), 0);
  if (length <= 0) return {};
  const char* end = text.data() + length;
  const void* blank = std::memchr(text.data(), ' ', static_cast<std::size_t>(length));
  if (blank == nullptr) return {};
  std::int64_t delay = 0;
  if (std::from_chars(static_cast<const char*>(blank) + 1, end, delay).ec != std::errc()) return {};
  return std::chrono::nanoseconds(delay);
}

}  // namespace hone::workers::host
