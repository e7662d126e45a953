// How long a thread was ready to run and had no processor.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace hone::workers::host {

// Reads Linux's scheduler statistics of the thread that calls; zero where the kernel keeps none. One thread at a time.
class RunDelay {
 public:
  RunDelay() = default;
  ~RunDelay();
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;

  // Since the thread began.
  std::chrono::nanoseconds total() noexcept;

 private:
  void open_for(pid_t thread) noexcept;

  pid_t thread_ = 0;
  int file_ = -1;
};

}  // namespace hone::workers::host
