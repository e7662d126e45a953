// Ctrl-C as a question instead of an end.
#pragma once

#include <csignal>

namespace hone::tools {

// While one lives, SIGINT and SIGTERM set a flag; a second signal ends the program as usual. One at a time.
class Interrupt {
 public:
  Interrupt() {
    requested_ = 0;
    previous_int_ = std::signal(SIGINT, handle);
    previous_term_ = std::signal(SIGTERM, handle);
  }
  ~Interrupt() {
    std::signal(SIGINT, previous_int_);
    std::signal(SIGTERM, previous_term_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested() noexcept { return requested_ != 0; }

 private:
  static void handle(int signal) {
    requested_ = 1;
    std::signal(signal, SIG_DFL);
  }
  static inline volatile std::sig_atomic_t requested_ = 0;
  void (*previous_int_)(int) = SIG_DFL;
  void (*previous_term_)(int) = SIG_DFL;
};

}  // namespace hone::tools
