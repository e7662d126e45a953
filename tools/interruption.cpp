#include "tools/interruption.hpp"

namespace hone::tools {
namespace {

volatile std::sig_atomic_t noted = 0;

}  // namespace

Interruption::Interruption() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { noted = 1; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

bool Interruption::requested() const noexcept { return noted != 0; }

}  // namespace hone::tools
