// find on a hit allocates nothing: every allocation of the program is counted.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "tests/support/engine_fixture.hpp"

namespace {

thread_local std::uint64_t allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hone {
namespace {

using namespace test;

class AllocationTest : public EngineFixture {};

TEST_F(AllocationTest, FindOnAHitAndReadingABindingAllocateNothing) {
  auto engine =
      start(scripted_operation({scripted_solver("fallback"), scripted_solver("other", {.time = 100us})}), options());
  settled(*engine, Doubling{});
  const Binding binding = engine->bind(Doubling{});
  const std::uint64_t before = allocations;
  std::uint64_t full = 0;
  for (int i = 0; i < 10'000; ++i) {
    full += engine->find(Doubling{}) ? 1u : 0u;
    full += engine->find(Doubling{}, {.find_mode = FindMode::fast}) ? 1u : 0u;
    full += binding.get() ? 1u : 0u;
    engine->report(binding.get(), 100us);
  }
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_EQ(full, 30'000u);
  EXPECT_GT(before, 0u) << "allocations are counted";
}

}  // namespace
}  // namespace hone
