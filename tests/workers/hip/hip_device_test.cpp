// The HIP device over the emulated runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/error.hpp>
#include <hone/hip.hpp>
#include <thread>
#include <vector>

#include "engine/log.hpp"
#include "kernels/hip/kernel_device.hpp"
#include "tests/support/code_object.hpp"
#include "tests/support/hip_runtime/emulated_hip.hpp"
#include "workers/hip/load.hpp"
#include "workers/hip/stream.hpp"

namespace hone {
namespace {

using namespace std::chrono_literals;
using test::EmulatedHip;
using test::HipFault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* code = "code of add_one";

struct AddOne {
  float* values;
  int count;
};

class HipDeviceTest : public ::testing::Test {
 protected:
  HipDeviceTest() {
    engine::set_log_level(LogLevel::off);
    hip_.reset();
    hip_.add_kernel(code, "add_one", sizeof(AddOne), [](const test::EmulatedLaunch& launch) {
      const auto& argument = *static_cast<const AddOne*>(launch.argument);
      for (int i = 0; i < argument.count; ++i) argument.values[i] += 1;
    });
    device_ = hip_device(0, {.hang_timeout = hang_timeout});
    EXPECT_EQ(hipModuleLoadData(&module_, code), hipSuccess);
    EXPECT_EQ(hipModuleGetFunction(&function_, module_, "add_one"), hipSuccess);
  }
  ~HipDeviceTest() override {
    device_.reset();
    EXPECT_THAT(hip_.complaints(), IsEmpty());
    hip_.reset();
  }

  // Nothing but a hang takes so long, and only tests of hangs wait for it.
  static constexpr auto hang_timeout = 2s;

  std::error_code launch(Stream& stream, std::byte* values, int count) {
    auto& native = dynamic_cast<hip::HipStream&>(stream);
    AddOne argument{reinterpret_cast<float*>(values), count};
    void* arguments[] = {&argument};
    return native.context().check(
        hipModuleLaunchKernel(function_, 1, 1, 1, 64, 1, 1, 0, native.native(), arguments, nullptr), "a launch");
  }
  Buffer floats(const std::vector<float>& values) {
    Buffer buffer = device_->allocate(values.size() * sizeof(float));
    device_->copy_to_device(buffer.get(), std::as_bytes(std::span(values)));
    return buffer;
  }
  std::vector<float> read(const Buffer& buffer, std::size_t count) {
    std::vector<float> values(count);
    device_->copy_to_host(std::as_writable_bytes(std::span(values)), buffer.get());
    return values;
  }
  static Errc error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return static_cast<Errc>(error.code().value());
    }
    return {};
  }

  EmulatedHip& hip_ = EmulatedHip::get();
  std::shared_ptr<Device> device_;
  hipModule_t module_ = nullptr;
  hipFunction_t function_ = nullptr;
};

std::string refusal(int ordinal, HipOptions options = {}) {
  try {
    hip_device(ordinal, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "there is one";
}

TEST_F(HipDeviceTest, IsNamedByItsOrdinalAndDescribedWithoutItsMarketingName) {
  EXPECT_EQ(hip_device_count(), 1);
  EXPECT_EQ(device_->name(), "hip:0");
  const Environment& environment = device_->environment();
  EXPECT_EQ(environment.vendor, "amd");
  EXPECT_EQ(environment.architecture, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(environment.device, "104 compute units");
  EXPECT_EQ(environment.facts.at("memory"), "1073741824 bytes");
  EXPECT_EQ(environment.facts.at("hip runtime"), "50202");
  EXPECT_EQ(device_->last_level_cache_bytes(), 65536u);
}

TEST_F(HipDeviceTest, SaysWhatThereIsInsteadOfAMissingDevice) {
  EXPECT_THAT(refusal(1), HasSubstr("there is no device hip:1; HIP finds hip:0 to hip:0"));
  EXPECT_THAT(refusal(-1), HasSubstr("there is no device hip:-1"));
  EXPECT_THAT(refusal(0, {.hang_timeout = 0s}), HasSubstr("hang_timeout must be a positive time"));
  device_.reset();
  hip_.reset(0);
  EXPECT_EQ(hip_device_count(), 0);
  EXPECT_THAT(refusal(0), HasSubstr("HIP finds no device: hipErrorNoDevice"));
}

TEST_F(HipDeviceTest, RunsKernelsOnItsOwnMemory) {
  const auto stream = device_->make_stream(StreamPriority::background);
  const Buffer buffer = floats({1, 2, 3});
  EXPECT_FALSE(launch(*stream, buffer.get(), 3));
  EXPECT_FALSE(stream->synchronize());
  EXPECT_THAT(read(buffer, 3), ::testing::ElementsAre(2, 3, 4));
  device_->copy_to_device(buffer.get(), {});
}

TEST_F(HipDeviceTest, CopiesWhatIsLargerThanItsStagingMemory) {
  std::vector<float> values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  EXPECT_EQ(read(floats(values), values.size()), values);
}

TEST_F(HipDeviceTest, BackgroundStreamsYieldAndNoneIsTheDefaultStreams) {
  const auto background = device_->make_stream(StreamPriority::background);
  EXPECT_EQ(hip_.last_priority(), 1);
  EXPECT_EQ(hip_.last_flags(), static_cast<unsigned>(hipStreamNonBlocking));
  const auto normal = device_->make_stream(StreamPriority::normal);
  EXPECT_EQ(hip_.last_priority(), 0);
  EXPECT_EQ(hip_.last_flags(), static_cast<unsigned>(hipStreamNonBlocking));
  const Buffer buffer = floats({1});
  EXPECT_FALSE(launch(*background, buffer.get(), 1));
  EXPECT_FALSE(background->synchronize());
  EXPECT_NE(normal->scratch(100), nullptr);
  EXPECT_EQ(hip_.default_stream_uses(), 0);
}

TEST_F(HipDeviceTest, TimesABatchByTheDevicesClock) {
  const auto stream = device_->make_stream(StreamPriority::background);
  const Buffer buffer = floats({0});
  std::chrono::nanoseconds elapsed{-1};
  EXPECT_FALSE(stream->time([&] { return launch(*stream, buffer.get(), 1); }, 5, elapsed));
  EXPECT_GE(elapsed, 0ns);
  EXPECT_THAT(read(buffer, 1), ::testing::ElementsAre(5));
}

TEST_F(HipDeviceTest, AClockThatCannotBeRightIsAnError) {
  const auto stream = device_->make_stream(StreamPriority::background);
  const Buffer buffer = floats({0});
  const auto time = [&] {
    std::chrono::nanoseconds elapsed{-1};
    const auto error = stream->time([&] { return launch(*stream, buffer.get(), 1); }, 1, elapsed);
    return std::pair(error, elapsed);
  };
  hip_.inject(HipFault::clock_backwards);
  EXPECT_EQ(time().first, Errc::clock_failed);
  hip_.inject(HipFault::clock_races);
  EXPECT_EQ(time().first, Errc::clock_failed);
  hip_.inject(HipFault::clock_stands);
  EXPECT_EQ(time(), std::pair(std::error_code{}, 0ns));  // the sampler takes more launches, or refuses it
  EXPECT_FALSE(time().first);
}

TEST_F(HipDeviceTest, AFailedLaunchEndsItsBatchAndHarmsNothingElse) {
  const auto stream = device_->make_stream(StreamPriority::background);
  const Buffer buffer = floats({0});
  hip_.inject(HipFault::launch_refused, 2);
  std::chrono::nanoseconds elapsed{0};
  EXPECT_EQ(stream->time([&] { return launch(*stream, buffer.get(), 1); }, 5, elapsed), Errc::launch_failed);
  EXPECT_THAT(read(buffer, 1), ::testing::ElementsAre(2));
  const auto throwing = [&]() -> std::error_code { throw 1; };
  EXPECT_EQ(stream->time(throwing, 1, elapsed), Errc::launch_failed);
  EXPECT_FALSE(launch(*stream, buffer.get(), 1));
  EXPECT_FALSE(stream->synchronize());
}

TEST_F(HipDeviceTest, NoMemoryIsAnErrorAndNotTheEndOfTheDevice) {
  hip_.inject(HipFault::out_of_memory);
  EXPECT_EQ(error_of([&] { device_->allocate(100); }), Errc::out_of_memory);
  const auto stream = device_->make_stream(StreamPriority::background);
  hip_.inject(HipFault::out_of_memory);
  EXPECT_EQ(stream->scratch(100), nullptr);
  EXPECT_NE(stream->scratch(100), nullptr);
  EXPECT_NE(device_->allocate(0), nullptr);
}

TEST_F(HipDeviceTest, WorksWithoutPools) {
  hip_.remove_pools();
  Buffer buffer = floats({1, 2});
  EXPECT_THAT(read(buffer, 2), ::testing::ElementsAre(1, 2));
  buffer.reset();
  EXPECT_EQ(hip_.allocations(), 0u);
  hip_.inject(HipFault::out_of_memory);
  EXPECT_EQ(error_of([&] { device_->allocate(100); }), Errc::out_of_memory);
}

TEST_F(HipDeviceTest, LoadedCodeTellsWhatItsMetadataSaysAndElseNothing) {
  auto& gpu = dynamic_cast<hip::KernelDevice&>(*device_);
  const std::string_view text(code);
  const auto plain = gpu.load(std::as_bytes(std::span(text.data(), text.size() + 1)));
  EXPECT_THAT(plain->kernels(), IsEmpty());
  const auto told = gpu.load(test::object_with({{"amdhsa.kernels", {test::kernel_metadata("add_one", 9)}}}, text));
  ASSERT_EQ(told->kernels().size(), 1u);
  EXPECT_EQ(told->kernels()[0].name, "add_one");
  EXPECT_EQ(told->kernels()[0].spilled_registers, 9);
  // Metadata that cannot be read is no reason not to run the code.
  const auto damaged = gpu.load(test::object_with({{"amdhsa.kernels", 1}}, text));
  EXPECT_THAT(damaged->kernels(), IsEmpty());
  EXPECT_NO_THROW(damaged->prepare({.kernel = "add_one"}));
}

TEST_F(HipDeviceTest, TellsItsLoadWhereItHasCodeForIt) {
  const auto stream = device_->make_stream(StreamPriority::background);
  EXPECT_EQ(device_->run_reference(*stream), std::errc::not_supported);  // the double does not know the code
  const auto ahead = hip::load_code("gfx90a");
  if (ahead.empty()) GTEST_SKIP() << "this build has no code that was compiled ahead (no compiler, or instrumented)";
  int runs = 0;
  hip_.add_kernel(reinterpret_cast<const char*>(ahead.data()), "hone_load", sizeof(float*),
                  [&](const test::EmulatedLaunch& launch) { runs += static_cast<int>(launch.groups[0]); });
  const auto device = hip_device(0);
  const auto another = device->make_stream(StreamPriority::background);
  EXPECT_FALSE(device->run_reference(*another));
  EXPECT_FALSE(another->synchronize());
  EXPECT_EQ(runs, 104);  // a group a compute unit
}

TEST_F(HipDeviceTest, ScratchGrowsAndKeepsWhatAGraphMayUse) {
  const std::size_t before = hip_.allocations();
  {
    const auto stream = device_->make_stream(StreamPriority::normal);
    void* small = stream->scratch(100);
    EXPECT_EQ(stream->scratch(50), small);
    void* large = stream->scratch(1 << 20);
    EXPECT_NE(large, small);
    EXPECT_EQ(stream->scratch(100), large);
    EXPECT_EQ(hip_.allocations(), before + 2);
  }
  EXPECT_EQ(hip_.allocations(), before);
}

// What each of hone's calls answers once the device is out of service.
void expect_out_of_service(Device& device, Stream& stream) {
  std::chrono::nanoseconds elapsed{0};
  EXPECT_EQ(stream.synchronize(), Errc::no_device);
  EXPECT_EQ(stream.time([] { return std::error_code{}; }, 1, elapsed), Errc::no_device);
  EXPECT_EQ(stream.scratch(1 << 24), nullptr);
  std::byte byte{};
  for (const auto& action : {std::function<void()>([&] { device.allocate(1); }), std::function<void()>([&] {
                               device.copy_to_host({&byte, 1}, &byte);
                             }),
                             std::function<void()>([&] { device.make_stream(StreamPriority::background); })}) {
    try {
      action();
      ADD_FAILURE() << "it works";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::no_device) << error.what();
    }
  }
}

TEST_F(HipDeviceTest, AStickyErrorPutsTheDeviceOutOfService) {
  const auto stream = device_->make_stream(StreamPriority::background);
  const Buffer buffer = floats({0});
  hip_.inject(HipFault::illegal_address);
  static_cast<void>(launch(*stream, buffer.get(), 1));
  EXPECT_EQ(stream->synchronize(), Errc::no_device);
  expect_out_of_service(*device_, *stream);
}

TEST_F(HipDeviceTest, ALostDeviceIsOutOfService) {
  const auto stream = device_->make_stream(StreamPriority::background);
  hip_.inject(HipFault::device_lost);
  EXPECT_EQ(stream->synchronize(), Errc::no_device);
  expect_out_of_service(*device_, *stream);
}

TEST_F(HipDeviceTest, AHangEndsInTimeAndPutsTheDeviceOutOfService) {
  device_ = hip_device(0, {.hang_timeout = 20ms});
  const auto stream = device_->make_stream(StreamPriority::background);
  const Buffer buffer = floats({0});
  hip_.inject(HipFault::hang);
  EXPECT_FALSE(launch(*stream, buffer.get(), 1));
  EXPECT_EQ(stream->synchronize(), Errc::no_device);
  expect_out_of_service(*device_, *stream);
}

TEST_F(HipDeviceTest, TheCallersStreamIsUsedAsItIs) {
  hipStream_t native = nullptr;
  ASSERT_EQ(hipStreamCreateWithPriority(&native, hipStreamDefault, 0), hipSuccess);
  const Buffer buffer = floats({0});
  {
    const auto stream = hip_stream(device_, native);
    EXPECT_FALSE(launch(*stream, buffer.get(), 1));
    EXPECT_FALSE(stream->synchronize());
  }
  EXPECT_THAT(read(buffer, 1), ::testing::ElementsAre(1));
  EXPECT_EQ(hipStreamDestroy(native), hipSuccess);  // it is still there
  EXPECT_EQ(error_of([&] { hip_stream(host_device(), native); }), Errc::invalid_option);
}

// Everything that hone does on its own threads, while the caller captures in the strictest mode.
TEST_F(HipDeviceTest, NothingOfHonesBreaksTheCallersCapture) {
  hipStream_t native = nullptr;
  ASSERT_EQ(hipStreamCreateWithPriority(&native, hipStreamDefault, 0), hipSuccess);
  const auto callers = hip_stream(device_, native);
  Buffer kept = floats({0});
  ASSERT_EQ(hipStreamBeginCapture(native, hipStreamCaptureModeGlobal), hipSuccess);
  EXPECT_FALSE(launch(*callers, kept.get(), 1));
  EXPECT_NE(callers->scratch(1000), nullptr);
  std::thread background([&] {
    const auto stream = device_->make_stream(StreamPriority::background);
    const Buffer buffer = floats({0});
    std::chrono::nanoseconds elapsed{0};
    EXPECT_FALSE(stream->time([&] { return launch(*stream, buffer.get(), 1); }, 3, elapsed));
    EXPECT_NE(stream->scratch(1000), nullptr);
    EXPECT_FALSE(stream->synchronize());
    EXPECT_THAT(read(buffer, 1), ::testing::ElementsAre(3));
  });
  background.join();
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipStreamEndCapture(native, &graph), hipSuccess);
  // The double would have seen it: a plain call does break a capture.
  ASSERT_EQ(hipStreamBeginCapture(native, hipStreamCaptureModeGlobal), hipSuccess);
  void* memory = nullptr;
  EXPECT_EQ(hipMalloc(&memory, 1), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(native, &graph), hipErrorStreamCaptureInvalidated);
  EXPECT_EQ(hipStreamDestroy(native), hipSuccess);
}

TEST_F(HipDeviceTest, ABufferMayOutliveItsDevice) {
  Buffer buffer = floats({1});
  device_.reset();
  buffer.reset();
}

TEST_F(HipDeviceTest, ManyThreadsAllocateCopyAndRunAtOnce) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      const auto stream = device_->make_stream(StreamPriority::background);
      for (int round = 0; round < 20; ++round) {
        const Buffer buffer = floats({1, 2});
        EXPECT_FALSE(launch(*stream, buffer.get(), 2));
        EXPECT_FALSE(stream->synchronize());
        EXPECT_THAT(read(buffer, 2), ::testing::ElementsAre(2, 3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

using HipMemoryDeathTest = HipDeviceTest;

TEST_F(HipMemoryDeathTest, TheDoubleFaultsOnMisuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Buffer buffer = floats({1});
  EXPECT_DEATH(*reinterpret_cast<volatile float*>(buffer.get()) = 1, "");
}

}  // namespace
}  // namespace hone
