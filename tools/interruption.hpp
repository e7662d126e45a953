// Ctrl-C as a question: has it been pressed?
#pragma once

#include <csignal>

namespace hone::tools {

// While one lives, SIGINT and SIGTERM are noted instead of ending the program; a second one ends it as usual. One at a
// time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const noexcept;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

}  // namespace hone::tools
