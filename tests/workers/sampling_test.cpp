#include "workers/sampling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/error.hpp>

#include "tests/support/free_supervisor.hpp"
#include "tests/support/scripted_operation.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::Conditions;
using test::Script;
using testing::HasSubstr;

// A sampler over one scripted solver.
struct Bench {
  explicit Bench(Script script, Conditions conditions = {}, SamplingOptions options = {})
      : device(clock, std::move(conditions)),
        stream(device),
        solver(test::scripted_solver("a", std::move(script))),
        flush(options.cold_cache ? device.allocate(flush_bytes) : nullptr),
        sampler(device, stream, supervisor, Arguments{x.data(), y.data()}, options, flush, flush_bytes) {
    contestant.candidate = {"a", 1, ""};
    contestant.invoker = solver->prepare(test::Doubling{}, {}, device);
  }

  std::shared_ptr<test::ManualClock> clock = std::make_shared<test::ManualClock>();

  static constexpr std::size_t flush_bytes = 1 << 17;
  test::ScriptedDevice device;
  test::ScriptedStream stream;
  std::array<float, 16> x{};
  std::array<float, 16> y{};

  std::shared_ptr<const test::ScriptedSolver> solver;

  Buffer flush;

  test::FreeSupervisor supervisor;
  Sampler sampler;
  Contestant contestant;
};

TEST(Sampler, BatchesShortLaunchesUntilTheyDwarfTheClock) {
  Bench bench({.time = 700ns});
  ASSERT_FALSE(bench.sampler.sample(bench.contestant));
  EXPECT_GE(bench.contestant.batch * 700, 100'000);
  EXPECT_LE(bench.contestant.batch * 700, 200'000);
  EXPECT_NEAR(bench.contestant.samples.at(0), 700, 1);
}

TEST(Sampler, RunsLongLaunchesOneByOneAndWithoutALeadIn) {
  Bench bench({.time = 5ms});
  ASSERT_FALSE(bench.sampler.calibrate(bench.contestant));
  EXPECT_EQ(bench.contestant.batch, 1);
  const int before = bench.solver->launches();
  ASSERT_FALSE(bench.sampler.sample(bench.contestant));
  EXPECT_EQ(bench.solver->launches(), before + 1);
}

TEST(Sampler, MeasuresThroughAClockThatIsTooCoarseForOneLaunch) {
  // A clock of 15 us.
  const auto coarse = [](std::chrono::nanoseconds t) { return t / 15000 * 15000; };
  Bench bench({.time = 400ns}, {.clock = coarse});
  ASSERT_FALSE(bench.sampler.sample(bench.contestant));
  EXPECT_NEAR(bench.contestant.samples.at(0), 400, 0.16 * 400);
}

TEST(Sampler, NamesAClockThatStandsStill) {
  Bench bench({.time = 400ns}, {.clock = [](std::chrono::nanoseconds) { return 0ns; }}, {.max_batch = 1000});
  const Failure failure = bench.sampler.sample(bench.contestant);
  EXPECT_EQ(failure.code, Errc::clock_failed);
  EXPECT_THAT(failure.cause, HasSubstr("stood still during 1000 launches"));
  EXPECT_TRUE(bench.contestant.samples.empty());
}

TEST(Sampler, NamesAClockThatRunsBackwards) {
  Bench bench({}, {.clock = [](std::chrono::nanoseconds) { return -3ns; }});
  const Failure failure = bench.sampler.sample(bench.contestant);
  EXPECT_EQ(failure.code, Errc::clock_failed);
  EXPECT_THAT(failure.cause, HasSubstr("backwards by 3 ns"));
  EXPECT_TRUE(bench.contestant.samples.empty());
}

TEST(Sampler, WarmsUpUntilTimesAreSteady) {
  // The first 3 ms run at a third of the speed.
  Bench bench({.time = 200us, .own_speed = [](std::chrono::nanoseconds now) { return now < 3ms ? 3.0 : 1.0; }});
  ASSERT_FALSE(bench.sampler.warm_up(bench.contestant));
  EXPECT_GT(bench.clock->now(), 3ms);
  EXPECT_TRUE(bench.contestant.samples.empty());
  ASSERT_FALSE(bench.sampler.sample(bench.contestant));
  EXPECT_EQ(bench.contestant.samples.at(0), 200'000);
}

TEST(Sampler, GivesUpWarmingUpWhatNeverBecomesSteady) {
  Bench bench({.time = 200us}, {.jitter = 0.3}, {.max_warm_up = 7});
  ASSERT_FALSE(bench.sampler.calibrate(bench.contestant));
  const int before = bench.solver->launches();
  ASSERT_FALSE(bench.sampler.warm_up(bench.contestant));
  EXPECT_LE(bench.solver->launches() - before, 2 * 7);
}

TEST(Sampler, ColdSamplesAreSingleLaunches) {
  Bench bench({.time = 2us}, {}, {.cold_cache = true});
  ASSERT_FALSE(bench.sampler.sample(bench.contestant));
  EXPECT_EQ(bench.contestant.batch, 1);
  const int before = bench.solver->launches();
  ASSERT_FALSE(bench.sampler.sample(bench.contestant));
  EXPECT_EQ(bench.solver->launches(), before + 1);
}

TEST(Sampler, TellsWhyALaunchFailed) {
  Bench bench({.fault = test::Fault::launch_fails_later});
  ASSERT_FALSE(bench.sampler.run(bench.contestant));
  Failure failure;
  for (int i = 0; i < 4 && !failure; ++i) failure = bench.sampler.sample(bench.contestant);
  EXPECT_EQ(failure.code, Errc::launch_failed);
  EXPECT_FALSE(failure.cause.empty());
}

TEST(Sampler, NeverLeavesAnOpenBracket) {
  for (const test::Fault fault : {test::Fault::none, test::Fault::launch_fails}) {
    Bench bench({.fault = fault});
    static_cast<void>(bench.sampler.sample(bench.contestant));
    EXPECT_EQ(bench.supervisor.open_brackets(), 0);
    EXPECT_GT(bench.supervisor.brackets(), 0);
  }
}

TEST(TimingOf, IsTheMedianWithItsInterval) {
  const Timing timing = timing_of({5, 1, 2, 4, 3, 100, 6});
  EXPECT_EQ(timing.median.count(), 4);
  EXPECT_EQ(timing.low.count(), 1);
  EXPECT_EQ(timing.high.count(), 100);
  EXPECT_EQ(timing.samples, 7u);
  EXPECT_FALSE(timing_of({}).known());
}

}  // namespace
}  // namespace hone::workers
