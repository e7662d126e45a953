#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <hone/device.hpp>
#include <hone/error.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "workers/host/processor.hpp"

namespace hone {
namespace {

using ::testing::HasSubstr;

TEST(HostDevice, DescribesThisMachine) {
  const auto device = host_device();
  EXPECT_EQ(device->name(), "host");
  EXPECT_FALSE(device->environment().vendor.empty());
  EXPECT_THAT(device->environment().device, HasSubstr("processors"));
  EXPECT_EQ(device->environment(), host_device()->environment());
}

TEST(HostDevice, AllocatesAlignedMemoryAndCopies) {
  const auto device = host_device();
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 100000U}) {
    const Buffer buffer = device->allocate(bytes);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.get()) % 64, 0U);
  }
  const Buffer buffer = device->allocate(3);
  const std::byte source[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  device->copy_to_device(buffer.get(), source);
  std::byte target[3] = {};
  device->copy_to_host(target, buffer.get());
  EXPECT_EQ(std::memcmp(source, target, 3), 0);
}

TEST(HostDevice, SaysWhatToDoWhenMemoryIsOut) {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2}) {
    try {
      host_device()->allocate(bytes);
      FAIL() << "allocated " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::out_of_memory);
      EXPECT_THAT(error.what(), HasSubstr("max_buffer_bytes"));
    }
  }
}

TEST(HostStream, TimesABatchAndStopsAtTheFirstError) {
  const auto stream = host_stream();
  int launches = 0;
  std::chrono::nanoseconds elapsed{-1};
  EXPECT_FALSE(stream->time(
      [&] {
        ++launches;
        return std::error_code();
      },
      5, elapsed));
  EXPECT_EQ(launches, 5);
  EXPECT_GE(elapsed.count(), 0);
  launches = 0;
  const auto failing = [&] { return ++launches == 2 ? make_error_code(Errc::launch_failed) : std::error_code(); };
  EXPECT_EQ(stream->time(failing, 5, elapsed), make_error_code(Errc::launch_failed));
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(stream->time([]() -> std::error_code { throw std::runtime_error("no"); }, 1, elapsed),
            make_error_code(Errc::launch_failed));
}

TEST(HostStream, KeepsItsScratchUntilMoreIsAsked) {
  const auto stream = host_stream();
  void* const first = stream->scratch(1000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(stream->scratch(10), first);
  std::memset(stream->scratch(100000), 1, 100000);
  EXPECT_EQ(stream->scratch(SIZE_MAX), nullptr);
  EXPECT_NE(stream->scratch(10), nullptr);
}

int thread_nice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

TEST(HostStream, LowersTheThreadOfBackgroundWorkAndNoOther) {
  const auto device = host_device();
  const auto nothing = [] { return std::error_code(); };
  const int before = thread_nice();
  int normal = 0, background = 0;
  std::thread([&] {
    std::chrono::nanoseconds elapsed{0};
    device->make_stream(StreamPriority::normal)->time(nothing, 1, elapsed);
    normal = thread_nice();
    device->make_stream(StreamPriority::background)->time(nothing, 1, elapsed);
    background = thread_nice();
  }).join();
  EXPECT_EQ(normal, before);
  EXPECT_GE(background, 10);
  std::chrono::nanoseconds elapsed{0};
  device->make_stream(StreamPriority::background)->time(nothing, 1, elapsed);
  EXPECT_EQ(thread_nice(), before) << "the main thread is never lowered";
}

TEST(Processor, ReadsWhatTheKernelSays) {
  std::istringstream cpuinfo(
      "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel name\t: AMD EPYC 7763\n"
      "flags\t\t: fpu fma avx avx2 aes\n\nprocessor\t: 1\nmodel name\t: another\n");
  const auto processor = workers::host::describe(cpuinfo, 8, {{1, 32768}, {3, 1 << 20}}, "x86_64");
  EXPECT_EQ(processor.environment.vendor, "amd");
  EXPECT_EQ(processor.environment.architecture, "x86_64-avx2");
  EXPECT_EQ(processor.environment.device, "8 processors");
  EXPECT_EQ(processor.environment.facts.at("processor"), "AMD EPYC 7763");
  EXPECT_EQ(processor.environment.facts.at("instructions"), "avx avx2 fma");
  EXPECT_EQ(processor.environment.facts.at("cache 3"), "1048576 bytes");
  EXPECT_EQ(processor.last_level_cache_bytes, std::size_t{1} << 20);
}

TEST(Processor, ManagesWithoutAnyText) {
  std::istringstream cpuinfo("");
  const auto processor = workers::host::describe(cpuinfo, 1, {}, "riscv64");
  EXPECT_EQ(processor.environment.vendor, "unknown");
  EXPECT_EQ(processor.environment.architecture, "riscv64");
  EXPECT_EQ(processor.last_level_cache_bytes, 0U);
}

}  // namespace
}  // namespace hone
