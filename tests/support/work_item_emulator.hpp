// Runs GPU kernels on the host, work-item by work-item: a test double of the language, never of the speed.
//
// A file that includes this and then a kernel's text has the words of the language as macros. One thread at a time.
#pragma once

#include <ucontext.h>
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

// HIP's own headers have them too.
#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__ inline
#define __shared__ static
#define __launch_bounds__(work_group)
#define __syncthreads() hone::testing::WorkItems::barrier()
#define threadIdx hone::testing::WorkItems::item
#define blockIdx hone::testing::WorkItems::group
#define KERNEL [[maybe_unused]] static

namespace hone::testing {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

class WorkItems {
 public:
  static inline Index item, group;

  // Calls `kernel` once a work-item, one group after the other. Throws std::logic_error when a barrier is reached by
  // some work-items of a group while others have returned.
  static void run(const std::array<std::uint32_t, 3>& groups, std::uint32_t work_group,
                  const std::function<void()>& kernel) {
    for (unsigned z = 0; z < groups[2]; ++z) {
      for (unsigned y = 0; y < groups[1]; ++y) {
        for (unsigned x = 0; x < groups[0]; ++x) {
          group = {x, y, z};
          run_group(work_group, kernel);
        }
      }
    }
  }

  static void barrier() {
    current_->waiting = true;
    leave(*current_);
  }

 private:
  static constexpr std::size_t stack_bytes = 64 * 1024;
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    bool waiting = false;
    bool done = false;
#if defined(__SANITIZE_THREAD__)
    void* const sanitizer = __tsan_create_fiber(0);
#endif
  };
  static inline ucontext_t scheduler_;
  static inline Fiber* current_ = nullptr;
#if defined(__SANITIZE_THREAD__)
  static inline void* sanitizer_ = nullptr;  // of the thread that runs the work-items
#endif
  static inline const std::function<void()>* kernel_ = nullptr;

  static void begin() {
    (*kernel_)();
    current_->done = true;
    current_->waiting = false;
    leave(*current_);
  }

  // The thread sanitizer must know whose stack it sees.
  static void enter(Fiber& fiber) {
    current_ = &fiber;
#if defined(__SANITIZE_THREAD__)
    sanitizer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.sanitizer, 0);
#endif
    swapcontext(&scheduler_, &fiber.context);
  }
  static void leave(Fiber& fiber) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(sanitizer_, 0);
#endif
    swapcontext(&fiber.context, &scheduler_);
  }

  static void run_group(std::uint32_t work_group, const std::function<void()>& kernel) {
    static std::vector<Fiber> fibers;
    if (fibers.size() < work_group) fibers = std::vector<Fiber>(work_group);
    kernel_ = &kernel;
    for (std::uint32_t i = 0; i < work_group; ++i) {
      Fiber& fiber = fibers[i];
      fiber.waiting = fiber.done = false;
      getcontext(&fiber.context);
      fiber.context.uc_stack = {.ss_sp = fiber.stack.get(), .ss_flags = 0, .ss_size = stack_bytes};
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, &WorkItems::begin, 0);
    }
    for (bool running = true; running;) {
      std::uint32_t waiting = 0, done = 0;
      for (std::uint32_t i = 0; i < work_group; ++i) {
        if (!fibers[i].done) {
          item = {i, 0, 0};
          enter(fibers[i]);
        }
        waiting += fibers[i].waiting ? 1 : 0;
        done += fibers[i].done ? 1 : 0;
      }
      if (waiting > 0 && done > 0) throw std::logic_error("a barrier was not reached by every work-item of its group");
      running = waiting > 0;
    }
  }
};

}  // namespace hone::testing
