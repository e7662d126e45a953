#include "workers/race.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/free_supervisor.hpp"
#include "tests/support/scripted_operation.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::Conditions;
using test::Fault;
using test::Script;

struct Track {
  explicit Track(std::vector<Script> scripts, Conditions conditions = {})
      : device(clock, std::move(conditions)),
        stream(device),
        sampler(device, stream, supervisor, Arguments{x.data(), y.data()}, {}) {
    for (Script& script : scripts) {
      solvers.push_back(
          test::scripted_solver(std::string(1, static_cast<char>('a' + solvers.size())), std::move(script)));
    }
    contestants.resize(solvers.size());
    for (std::size_t i = 0; i < solvers.size(); ++i) {
      contestants[i].candidate = {std::string(solvers[i]->id()), 1, ""};
      contestants[i].invoker = solvers[i]->prepare(test::Doubling{}, {}, device);
      entries.push_back({.contestant = &contestants[i]});
    }
  }

  Comparison result(std::size_t challenger, double confidence = 0.995) {
    return compare(entries[0], entries[challenger], confidence);
  }

  std::shared_ptr<test::ManualClock> clock = std::make_shared<test::ManualClock>();

  test::ScriptedDevice device;
  test::ScriptedStream stream;
  std::array<float, 17> x{};
  std::array<float, 17> y{};

  test::FreeSupervisor supervisor;
  Sampler sampler;
  std::vector<std::shared_ptr<const test::ScriptedSolver>> solvers;
  std::vector<Contestant> contestants;
  std::vector<RaceEntry> entries;
};

TEST(Race, StopsAtTheFirstLookWhenNothingCanChange) {
  Track track({{.time = 200us}, {.time = 250us}, {.time = 150us}});
  EXPECT_TRUE(race(track.sampler, track.entries, {}));
  EXPECT_EQ(track.contestants[0].samples.size(), 9u);
  EXPECT_EQ(track.entries[1].ratios.size(), 9u);
  EXPECT_DOUBLE_EQ(track.result(1).ratio, 1.25);
  EXPECT_DOUBLE_EQ(track.result(2).ratio, 0.75);
  EXPECT_DOUBLE_EQ(track.result(2).high, 0.75);
}

TEST(Race, SamplesNearATieUntilTheIntervalIsNarrow) {
  Track track({{.time = 200us}, {.time = 196us}}, {.jitter = 0.03});
  EXPECT_TRUE(race(track.sampler, track.entries, {}));
  EXPECT_GT(track.entries[1].ratios.size(), 9u);
  EXPECT_LE(track.entries[1].ratios.size(), 101u);
}

TEST(Race, DecidedChallengersLeave) {
  Track track({{.time = 200us}, {.time = 400us}, {.time = 196us}}, {.jitter = 0.03});
  EXPECT_TRUE(race(track.sampler, track.entries, {}));
  EXPECT_EQ(track.entries[1].ratios.size(), 9u);
  EXPECT_GT(track.entries[2].ratios.size(), 9u);
}

TEST(Race, SamplesTheIncumbentAloneUntilItsThresholdsAreDecided) {
  const auto samples = [](double threshold) {
    Track track({{.time = 200us}}, {.jitter = 0.03});
    EXPECT_TRUE(race(track.sampler, track.entries, {.thresholds = {threshold}}));
    return track.contestants[0].samples.size();
  };
  EXPECT_EQ(samples(250'000), 9u);
  EXPECT_EQ(samples(100'000), 9u);
  EXPECT_GT(samples(201'000), 9u);
}

TEST(Race, CommonLoadCancels) {
  // Load doubles all times half-way, and comes and goes every 20 ms.
  const auto load = [](std::chrono::nanoseconds now) { return now % 20ms < 10ms ? 1.0 : 2.0; };
  Track track({{.time = 200us}, {.time = 180us}}, {.slowdown = load, .jitter = 0.02});
  EXPECT_TRUE(race(track.sampler, track.entries, {}));
  EXPECT_NEAR(track.result(1).ratio, 0.9, 0.02);
  EXPECT_LT(track.result(1).high, 0.98);
}

TEST(Race, TheOrderRotates) {
  // Whoever comes second in a round is slowed: with a fixed order this would decide the race.
  int launches = 0;
  const auto second_is_slow = [&launches](std::chrono::nanoseconds) { return launches++ % 2 == 0 ? 1.0 : 1.2; };
  Track track({{.time = 1100us, .own_speed = second_is_slow}, {.time = 1100us, .own_speed = second_is_slow}});
  race(track.sampler, track.entries, {.max_rounds = 20});
  const Comparison comparison = track.result(1);
  EXPECT_LE(comparison.low, 1.0);
  EXPECT_GE(comparison.high, 1.0);
}

TEST(Race, AFailingChallengerLeavesTheOthersRacing) {
  Track track({{.time = 200us}, {.fault = Fault::launch_fails_later}, {.time = 150us}});
  EXPECT_TRUE(race(track.sampler, track.entries, {}));
  EXPECT_TRUE(track.entries[1].failure);
  EXPECT_FALSE(track.entries[0].failure);
  EXPECT_EQ(track.entries[2].ratios.size(), 9u);
}

TEST(Race, EndsWithAFailingIncumbent) {
  Track track({{.fault = Fault::launch_fails_later}, {.time = 150us}});
  EXPECT_TRUE(race(track.sampler, track.entries, {}));
  EXPECT_TRUE(track.entries[0].failure);
  EXPECT_FALSE(track.entries[1].failure);
}

TEST(Race, StopsWhenAskedTo) {
  Track track({{.time = 200us}, {.time = 150us}});
  int rounds = 5;
  EXPECT_FALSE(race(track.sampler, track.entries, {.proceed = [&] { return rounds-- > 0; }}));
  EXPECT_EQ(track.entries[1].ratios.size(), 3u);  // two questions were asked before the warm-ups

  Track cancelled({{.time = 200us}, {.time = 150us}});
  cancelled.supervisor.stop_after(4);
  EXPECT_FALSE(race(cancelled.sampler, cancelled.entries, {}));
}

TEST(Race, TooFewRoundsGiveNoInterval) {
  Track track({{.time = 200us}, {.time = 100us}});
  race(track.sampler, track.entries, {.max_rounds = 5});
  EXPECT_DOUBLE_EQ(track.result(1).ratio, 0.5);
  EXPECT_EQ(track.result(1).low, 0);
  EXPECT_EQ(track.result(1).high, std::numeric_limits<double>::infinity());
}

// The error of all looks together, at the worst place: challengers exactly as fast as the threshold.
TEST(Race, RarelyErrsAlthoughItLooksManyTimes) {
  int surely_better = 0;
  const int races = 300;
  for (int seed = 1; seed <= races; ++seed) {
    Track track({{.time = 200us}, {.time = 196us}}, {.jitter = 0.03, .seed = static_cast<std::uint64_t>(seed)});
    race(track.sampler, track.entries, {});
    surely_better += track.result(1).high < 0.98;
  }
  EXPECT_LE(surely_better, races * 4 / 100);
}

TEST(Screen, DropsAtTheFirstGateAfterOneSample) {
  Track track({{.time = 200us}, {.time = 700us}});
  const Screening screening = screen(track.sampler, track.contestants[0], track.contestants[1]);
  EXPECT_TRUE(screening.dropped);
  EXPECT_DOUBLE_EQ(screening.ratio, 3.5);
  EXPECT_EQ(track.contestants[1].samples.size(), 1u);
}

TEST(Screen, GivesASecondChanceToWhatIsNotHopeless) {
  Track track({{.time = 200us}, {.time = 400us}});
  EXPECT_TRUE(screen(track.sampler, track.contestants[0], track.contestants[1]).dropped);
  EXPECT_EQ(track.contestants[1].samples.size(), 2u);

  // Slow once: the device was busy.
  const auto once = [](std::chrono::nanoseconds now) { return now < 1ms ? 2.0 : 1.0; };
  Track spared({{.time = 200us}, {.time = 200us, .own_speed = once}});
  EXPECT_FALSE(screen(spared.sampler, spared.contestants[0], spared.contestants[1]).dropped);
}

TEST(Screen, DropsAtTheSecondGateWhatIsATenthSlowerThreeTimes) {
  Track slower({{.time = 200us}, {.time = 230us}});
  EXPECT_TRUE(screen(slower.sampler, slower.contestants[0], slower.contestants[1]).dropped);
  EXPECT_EQ(slower.contestants[1].samples.size(), 3u);
  Track close({{.time = 200us}, {.time = 210us}});
  EXPECT_FALSE(screen(close.sampler, close.contestants[0], close.contestants[1]).dropped);
}

TEST(Screen, JudgesByTheBestAndNotByTheIncumbent) {
  Track track({{.time = 200us}, {.time = 200us}});
  EXPECT_TRUE(screen(track.sampler, track.contestants[0], track.contestants[1], 0.5).dropped);
}

TEST(Screen, TellsWhoFailed) {
  Track challenger({{}, {.fault = Fault::launch_fails}});
  EXPECT_TRUE(screen(challenger.sampler, challenger.contestants[0], challenger.contestants[1]).failure);
  Track incumbent({{.fault = Fault::launch_fails}, {}});
  EXPECT_TRUE(screen(incumbent.sampler, incumbent.contestants[0], incumbent.contestants[1]).incumbent_failure);
}

}  // namespace
}  // namespace hone::workers
