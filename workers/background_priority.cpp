#include "workers/background_priority.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::workers {

void yield_to_others() noexcept {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  if (getpid() == static_cast<pid_t>(thread)) return;
  constexpr int background_nice = 10;
  if (getpriority(PRIO_PROCESS, thread) < background_nice) setpriority(PRIO_PROCESS, thread, background_nice);
}

}  // namespace hone::workers
