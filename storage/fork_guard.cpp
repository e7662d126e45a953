#include "storage/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace hone::storage {
namespace {

std::atomic<unsigned> generation{0};

}  // namespace

unsigned ForkGuard::current() noexcept {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace hone::storage
