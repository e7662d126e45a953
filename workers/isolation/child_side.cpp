#include "workers/isolation/child_side.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <signal.h>

#include "workers/isolation/message.hpp"

namespace hone::workers {
namespace {

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// No core dumps of what is expected to crash.
void confine(pid_t parent, std::uint64_t memory_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_SUCCESS);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (memory_bytes > 0) {
    const rlimit memory{memory_bytes, memory_bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
  constexpr int background_nice = 10;
  if (getpriority(PRIO_PROCESS, 0) < background_nice) setpriority(PRIO_PROCESS, 0, background_nice);
}

}  // namespace

std::span<std::byte> begin_child_side(int argc, char** argv) {
  if (argc < 4 || argv[argc - 3] != isolation_marker) return {};
  confine(static_cast<pid_t>(number_of(argv[argc - 2])), number_of(argv[argc - 1]));
  void* staging = mmap(nullptr, staging_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, isolation_staging, 0);
  if (staging == MAP_FAILED) _exit(EXIT_FAILURE);
  close(isolation_staging);
  return {static_cast<std::byte*>(staging), staging_bytes};
}

}  // namespace hone::workers
