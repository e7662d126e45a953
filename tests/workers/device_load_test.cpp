// Load: what a reference kernel tells, and that it never turns into a verdict.
#include "workers/device_load.hpp"

#include <gtest/gtest.h>

#include "engine/verdict.hpp"
#include "tests/support/scripted_worker.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::candidate;
using test::Conditions;
using test::scripted_operation;
using test::scripted_solver;
using test::ScriptedWorker;
using test::subject;

TEST(IdleTime, IsUnknownUntilSomethingWasObserved) {
  IdleTime idle;
  EXPECT_EQ(idle.estimate(), 0);
  idle.observe(0);
  idle.observe(-3);
  EXPECT_EQ(idle.estimate(), 0);
  idle.observe(50);
  EXPECT_EQ(idle.estimate(), 50);
}

TEST(IdleTime, IsMisledNeitherByLoadNorByShortBoosts) {
  IdleTime idle;
  for (int i = 0; i < 100; ++i) idle.observe(i % 10 == 0 ? 45 : i % 10 < 5 ? 50 : 100);
  EXPECT_EQ(idle.estimate(), 50);
}

TEST(IdleTime, FollowsADeviceThatHasChanged) {
  IdleTime idle;
  for (int i = 0; i < 600; ++i) idle.observe(50);
  for (int i = 0; i < 600; ++i) idle.observe(60);
  EXPECT_EQ(idle.estimate(), 60);
}

TEST(IdleTime, MaturesWithObservations) {
  IdleTime idle;
  for (int i = 0; i < 29; ++i) idle.observe(50);
  EXPECT_FALSE(idle.mature());
  idle.observe(50);
  EXPECT_TRUE(idle.mature());
}

// A worker that saw the device idle, and then verifies under load.
struct Loaded {
  explicit Loaded(double load_factor, double jitter = 0.02)
      : load(std::make_shared<double>(1)),
        fixture({.slowdown = [l = load](std::chrono::nanoseconds) { return *l; }, .jitter = jitter}) {
    for (int i = 0; i < 40; ++i) verify(200us);
    *load = load_factor;
  }
  Outcome verify(std::chrono::microseconds reported) {
    job = VerifyJob{.subject = subject(operation), .claimed = candidate("a"), .reported = reported};
    return fixture.run(*job);
  }
  engine::Conclusion conclude(std::chrono::microseconds reported) {
    const Outcome outcome = verify(reported);
    return engine::verdict(engine::gather(*job, outcome, engine::Source::same_device, {}), {});
  }

  std::shared_ptr<const test::ScriptedOperation> operation =
      scripted_operation({scripted_solver("a", {.time = 200us}), scripted_solver("b", {.time = 201us})});
  std::shared_ptr<double> load;
  ScriptedWorker fixture;
  std::optional<VerifyJob> job;
};

TEST(LoadProbe, TellsTheSlowdownAndCorrectsTheTime) {
  Loaded loaded(2.0);
  const Outcome outcome = loaded.verify(200us);
  EXPECT_NEAR(outcome.load.slowdown, 2, 0.06);
  EXPECT_TRUE(outcome.load.steady);
  EXPECT_NEAR(outcome.load.corrected.median.count(), 200'000, 6'000);
  EXPECT_NEAR(outcome.trials.at(0).timing.median.count(), 400'000, 12'000);
}

TEST(LoadProbe, AHealthyRecordIsAcceptedUnderLoadAndASlowOneIsFound) {
  for (const double factor : {0.9, 1.0, 1.5, 2.0, 3.0}) {
    EXPECT_EQ(Loaded(factor).conclude(200us).verdict, Verdict::accept) << factor;
    EXPECT_EQ(Loaded(factor).conclude(160us).verdict, Verdict::tune) << factor;
  }
}

TEST(LoadProbe, AnExtremeLoadIsInconclusive) { EXPECT_EQ(Loaded(6.0).conclude(200us).verdict, Verdict::inconclusive); }

TEST(LoadProbe, AnUnsteadyReferenceIsInconclusive) {
  const auto operation = scripted_operation({scripted_solver("a", {.time = 200us})});
  ScriptedWorker fixture({.jitter = 0.5});
  const VerifyJob job{.subject = subject(operation), .claimed = candidate("a"), .reported = 200us};
  const Outcome outcome = fixture.run(job);
  EXPECT_FALSE(outcome.load.steady);
  EXPECT_EQ(engine::verdict(engine::gather(job, outcome, engine::Source::same_device, {}), {}).verdict,
            Verdict::inconclusive);
}

TEST(LoadProbe, ADeviceWithoutAReferenceKernelIsNotCorrected) {
  const auto operation = scripted_operation({scripted_solver("a", {.time = 200us})});
  ScriptedWorker fixture({.slowdown = [](std::chrono::nanoseconds now) { return now < 10ms ? 1.0 : 2.0; }});
  fixture.device->has_reference = false;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome =
        fixture.run(VerifyJob{.subject = subject(operation), .claimed = candidate("a"), .reported = 200us});
    EXPECT_EQ(outcome.load.slowdown, 1);
    EXPECT_TRUE(outcome.load.steady);
    EXPECT_FALSE(outcome.load.corrected.known());
  }
}

TEST(LoadProbe, WorkersOfADeviceShareWhatTheyLearned) {
  const auto operation = scripted_operation({scripted_solver("a", {.time = 200us})});
  WorkerOptions options = ScriptedWorker::whole_time();
  options.idle_time = std::make_shared<IdleTime>();
  options.idle_time->observe(25'000);  // half of what the reference kernel takes
  ScriptedWorker fixture({}, options);
  const Outcome outcome =
      fixture.run(VerifyJob{.subject = subject(operation), .claimed = candidate("a"), .reported = 200us});
  EXPECT_NEAR(outcome.load.slowdown, 2, 0.01);
}

}  // namespace
}  // namespace hone::workers
