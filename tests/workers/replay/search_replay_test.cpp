#include "workers/replay/search_replay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <hone/error.hpp>

#include "workers/replay/replay_device.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view header = "x,status,mean_ms,compile_ms\n";

std::shared_ptr<const RecordedSpace> parse(const std::string& rows, std::optional<std::string_view> runs = {}) {
  return std::make_shared<const RecordedSpace>(RecordedSpace::parse("toy", std::string(header) + rows, runs));
}

class ReplayDeviceTest : public ::testing::Test {
 protected:
  std::shared_ptr<const RecordedSpace> space =
      parse("1,ok,2,100\n2,compile_failed,,50\n3,runtime_failed,,25\n4,ok,1,10\n", "t0,t1\n3,1\n\n\n1,1\n");
  std::shared_ptr<const Operation> operation = replay_operation(space);
  std::shared_ptr<VirtualClock> clock = std::make_shared<VirtualClock>();
  ReplayDevice device{"replay", clock};
  std::unique_ptr<Stream> stream = device.make_stream(StreamPriority::background);
  Problem problem = Problem::parse(operation->problem_type(), "");
  const Solver& solver = *operation->solvers()[0];

  std::shared_ptr<const Invoker> prepare(std::int64_t x) {
    return solver.prepare(problem, space->space().configuration({x}), device);
  }
};

TEST_F(ReplayDeviceTest, ChargesCompilingAndEachRun) {
  const auto invoker = prepare(1);
  EXPECT_EQ(clock->now(), 100ms);
  std::chrono::nanoseconds elapsed{0};
  float done = 0;
  const auto launch = [&] { return invoker->run(*stream, {&done}); };
  EXPECT_FALSE(stream->time(launch, 1, elapsed));
  EXPECT_EQ(elapsed, 3ms);
  EXPECT_EQ(done, 1);
  EXPECT_FALSE(stream->time(launch, 2, elapsed));
  EXPECT_EQ(elapsed, 4ms);  // the second run, and the first again
  EXPECT_EQ(clock->now(), 107ms);
}

TEST_F(ReplayDeviceTest, RecordedFailuresFail) {
  EXPECT_THROW(prepare(2), Error);
  EXPECT_EQ(clock->now(), 50ms);
  const auto invoker = prepare(3);
  std::chrono::nanoseconds elapsed{0};
  EXPECT_EQ(stream->time([&] { return invoker->run(*stream, {}); }, 3, elapsed), make_error_code(Errc::launch_failed));
  EXPECT_EQ(clock->now(), 75ms);
}

TEST_F(ReplayDeviceTest, TheFallbackIsReadyAndRight) {
  ASSERT_EQ(operation->fallback(), "first");
  const Solver& first = *operation->solvers()[1];
  EXPECT_FALSE(first.compiles(problem));
  const auto invoker = first.prepare(problem, {}, device);
  EXPECT_EQ(clock->now(), 0ms);
  const Buffer output = device.allocate(sizeof(float));
  EXPECT_FALSE(invoker->run(*stream, {output.get()}));
  float expected = 0;
  std::vector<std::span<std::byte>> operands = {std::as_writable_bytes(std::span(&expected, 1))};
  operation->reference(problem, operands);
  float actual = 0;
  device.copy_to_host(std::as_writable_bytes(std::span(&actual, 1)), output.get());
  EXPECT_EQ(actual, expected);
}

TEST_F(ReplayDeviceTest, RefusesOtherDevices) {
  EXPECT_FALSE(solver.applicable(problem, device));
  class OtherDevice : public Device {
   public:
    const std::string& name() const noexcept override { return name_; }
    const Environment& environment() const noexcept override { return environment_; }
    std::unique_ptr<Stream> make_stream(StreamPriority) override { return nullptr; }
    Buffer allocate(std::size_t) override { return nullptr; }
    void copy_to_device(std::byte*, std::span<const std::byte>) override {}
    void copy_to_host(std::span<std::byte>, const std::byte*) override {}
    std::size_t last_level_cache_bytes() const noexcept override { return 0; }

   private:
    std::string name_ = "other";
    Environment environment_;
  } other;
  EXPECT_TRUE(solver.applicable(problem, other));
}

TEST(SearchReplay, StepsCountFailuresAndTime) {
  const auto space = parse("1,ok,4,100\n2,compile_failed,,50\n3,ok,2,10\n4,ok,3,10\n");
  const auto strategy = make_strategy("exhaustive", space->space());
  const auto steps = replay_search(space, *strategy, {.stop = {.evaluations = 10}}).steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].ratio, 2);
  EXPECT_EQ(steps[0].device_time, 4ms);
  EXPECT_EQ(steps[0].wall_time, 104ms);
  EXPECT_EQ(steps[1].ratio, 2);
  EXPECT_EQ(steps[1].wall_time, 154ms);
  EXPECT_EQ(steps[2].ratio, 1);
  EXPECT_EQ(steps[3].device_time, 9ms);
}

TEST(SearchReplay, GatesDropSlowCandidatesEarly) {
  // The first is the best. The second fails the gate after the warm-up, the third that after one run, the fourth none.
  const auto space = parse("1,ok,1,0\n2,ok,5,0\n3,ok,1.65,0\n4,ok,1.2,0\n",
                           "t0,t1,t2,t3\n1,1,1,1\n5,5,5,5\n1.8,1.6,1.6,1.6\n1.2,1.2,1.2,1.2\n");
  const auto strategy = make_strategy("exhaustive", space->space());
  const auto steps = replay_search(space, *strategy, {.stop = {}, .screening = true}).steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].device_time, 4ms);
  EXPECT_EQ(steps[1].device_time, 9ms);
  EXPECT_EQ(steps[2].device_time, 12400us);
  EXPECT_EQ(steps[3].device_time, 17200us);
}

TEST(SearchReplay, WhatIsSlowerInEveryRunIsDroppedEarly) {
  const auto space = parse("1,ok,1,0\n2,ok,1.2,0\n3,ok,1.05,0\n4,ok,1.05,0\n5,ok,0.5,0\n",
                           "t0,t1,t2,t3,t4,t5,t6,t7\n1,1,1,1,1,1,1,1\n1,1.2,1.2,1.2,1.2,1.2,1.2,1.2\n"
                           "1,1.05,1.05,1.05,1.05,1.05,1.05,1.05\n1,1.05,1.05,1.05,1.05,1,1.05,1.05\n"
                           "0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5\n");
  const auto strategy = make_strategy("exhaustive", space->space());
  const auto steps = replay_search(space, *strategy, {.stop = {}, .screening = true}).steps;
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[1].device_time - steps[0].device_time, 4600us) << "after three runs";
  EXPECT_EQ(steps[2].device_time - steps[1].device_time, 7300us) << "after six runs";
  EXPECT_EQ(steps[3].device_time - steps[2].device_time, 8300us) << "one run was as fast as the best";
  EXPECT_EQ(steps[4].device_time - steps[3].device_time, 4ms);
  EXPECT_EQ(steps[4].ratio, 1);
}

// Two compile threads: the third candidate's compiler waits for a thread, and its measurement for both.
TEST(SearchReplay, LookingAheadCompilesDuringMeasurements) {
  const auto space = parse("1,ok,4,10\n2,ok,4,10\n3,ok,4,10\n4,ok,4,1\n");
  const auto wall_times = [&](std::size_t look_ahead) {
    std::vector<std::chrono::nanoseconds> times;
    const auto strategy = make_strategy("exhaustive", space->space());
    for (const SearchStep& step : replay_search(space, *strategy, {.stop = {}, .look_ahead = look_ahead}).steps) {
      times.push_back(step.wall_time);
    }
    return times;
  };
  using Times = std::vector<std::chrono::nanoseconds>;
  EXPECT_EQ(wall_times(0), (Times{14ms, 28ms, 42ms, 47ms}));
  // Two threads compile 1 and 2 until 10 ms, 3 until 20 ms, 4 from 14 ms on until 15 ms.
  EXPECT_EQ(wall_times(2), (Times{14ms, 18ms, 24ms, 28ms}));
}

TEST(SearchReplay, SaysWhyItStopped) {
  const auto space = parse("1,ok,4,0\n2,compile_failed,,50\n3,ok,2,0\n4,ok,3,0\n");
  const auto stop = [&](StopRule rule) {
    const auto strategy = make_strategy("exhaustive", space->space());
    const SearchReplay replay = replay_search(space, *strategy, {.stop = rule});
    return std::pair(replay.stop, replay.steps.size());
  };
  EXPECT_EQ(stop({}), std::pair(StopReason::exhausted, std::size_t{4}));
  EXPECT_EQ(stop({.evaluations = 3}), std::pair(StopReason::evaluations, std::size_t{3}));
  EXPECT_EQ(stop({.patience = 1}), std::pair(StopReason::patience, std::size_t{2}));
  EXPECT_EQ(stop({.wall_time = 50ms}), std::pair(StopReason::wall_time, std::size_t{2}));
  EXPECT_EQ(stop({.target = 2500us}), std::pair(StopReason::target, std::size_t{3}));
}

TEST(SearchReplay, ExpectedRandomRatioIsThatOfAllDraws) {
  const auto space = parse("1,ok,4,0\n2,compile_failed,,0\n3,ok,2,0\n4,ok,3,0\n5,runtime_failed,,0\n");
  // Of the 10 pairs: 4 hold the best (1.0), 3 more the second (1.5), 2 more the third (2.0), 1 none (the worst, 2.0).
  EXPECT_NEAR(expected_random_ratio(*space, 2), (4 * 1.0 + 3 * 1.5 + 2 * 2.0 + 1 * 2.0) / 10, 1e-12);
  EXPECT_NEAR(expected_random_ratio(*space, 5), 1, 1e-12);
  EXPECT_NEAR(expected_random_ratio(*space, 50), 1, 1e-12);
  EXPECT_EQ(expected_device_time(*space, 5), 9ms);
}

// The table in the data's description, computed by others.
TEST(SearchReplay, ExpectedRandomRatioIsThatOfTheDescription) {
  const std::string folder = std::string(HONE_SOURCE_ROOT) + "/../shared/data/spaces/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const RecordedSpace mi250x = RecordedSpace::read(folder + "convolution__MI250X.csv");
  EXPECT_NEAR(expected_random_ratio(mi250x, 10), 7.527, 0.0006);
  EXPECT_NEAR(expected_random_ratio(mi250x, 25), 3.785, 0.0006);
  EXPECT_NEAR(expected_random_ratio(mi250x, 400), 1.148, 0.0006);
  const RecordedSpace wide = RecordedSpace::read(folder + "convolution_wide__RTX_2080_Ti.csv");
  EXPECT_NEAR(expected_random_ratio(wide, 50), 1.277, 0.0006);
}

}  // namespace
}  // namespace hone::workers
