// Upgrades that the program is asked about, and upgrades that production makes the engine undo.
#include <gtest/gtest.h>

#include "tests/support/engine_fixture.hpp"

namespace hone {
namespace {

using namespace test;

class AdoptionTest : public EngineFixture {
 protected:
  static Policy asking() {
    Policy policy = eager();
    policy.adopt = Adopt::ask;
    return policy;
  }
};

TEST_F(AdoptionTest, AnOfferChangesNothingUntilItIsAdopted) {
  auto engine = start(two_solvers(), options(asking()));
  EventLog log(*engine);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  const Event offered = log.wait(EventKind::offered);
  EXPECT_EQ(offered.before.solver, "fallback");
  EXPECT_EQ(offered.after.solver, "other");
  EXPECT_NEAR(offered.after_timing.median.count(), 100'000, 1000);
  ASSERT_TRUE(offered.offer);
  EXPECT_EQ(engine->statistics().offered, 1u);
  EXPECT_EQ(engine->statistics().upgrades, 0u);

  offered.offer.adopt();
  EXPECT_EQ(log.wait(EventKind::upgraded).after.solver, "other");
  EXPECT_EQ(solver(engine->find(Doubling{})), "other");
  offered.offer.adopt();
  offered.offer.decline();
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(engine->statistics().upgrades, 1u) << "the first answer counts";
  engine.reset();
  EXPECT_EQ(solver(start(two_solvers(), options(Policy::frozen()))->find(Doubling{})), "other");
}

TEST_F(AdoptionTest, AnExplanationSaysWhatWaitsAndWhatStands) {
  auto engine = start(two_solvers(), options(asking()));
  engine->pause();
  Explanation waiting = engine->explain(Doubling{});
  EXPECT_EQ(waiting.candidate.solver, "fallback");
  EXPECT_EQ(waiting.provenance, Provenance::fallback);
  EXPECT_FALSE(waiting.evidence);
  EXPECT_EQ(waiting.background.task, "tune");
  EXPECT_GT(waiting.background.expected_cost, 0ns);
  engine->find(Doubling{.elements = 32});
  waiting = engine->explain(Doubling{.elements = 32});
  EXPECT_EQ(waiting.background.state, "queued");
  EXPECT_EQ(waiting.background.queue_place, 1u) << "the other one is with the worker";
  engine->resume();
  settled(*engine, Doubling{});
  const Explanation offered = engine->explain(Doubling{});
  ASSERT_TRUE(offered.offered);
  EXPECT_EQ(offered.offered->solver, "other");
  EXPECT_EQ(offered.background.state, "idle");
  const Explanation impossible = engine->explain(Doubling{.elements = 0});
  EXPECT_NE(impossible.reason.find("elements"), std::string::npos);
  EXPECT_NE(to_string(impossible).find("solution:    none"), std::string::npos);
}

TEST_F(AdoptionTest, AnExplanationKeepsTheVerdictAcrossStarts) {
  const std::string system = directory_.path("system");
  settled(*start(two_solvers(), {.database = system, .policy = eager()}), Doubling{});
  auto with_system = options();
  with_system.system_databases = {system};
  settled(*start(two_solvers(), with_system), Doubling{});
  const Explanation explained = start(two_solvers(), options(Policy::frozen()))->explain(Doubling{});
  ASSERT_TRUE(explained.judgement);
  EXPECT_EQ(explained.judgement->verdict, Verdict::accept);
  ASSERT_TRUE(explained.evidence);
  EXPECT_EQ(explained.evidence->best.candidate.solver, "other");
  EXPECT_EQ(explained.evidence->source, "this environment");
  const std::string text = to_string(explained);
  for (const char* expected : {"provenance:  user", "verdict:     accept", "rival:     fallback", "warm caches"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " in\n" << text;
  }
}

TEST_F(AdoptionTest, WhatIsDeclinedIsNotOfferedAgainAtTheNextStart) {
  {
    auto engine = start(two_solvers(), options(asking()));
    EventLog log(*engine);
    settled(*engine, Doubling{});
    log.wait(EventKind::offered).offer.decline();
    EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  }
  auto engine = start(two_solvers(), options(asking()));
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  EXPECT_EQ(engine->find(Doubling{}).provenance(), Provenance::user);
  EXPECT_EQ(engine->statistics().offered, 0u);
}

TEST_F(AdoptionTest, WhatIsNeverAnsweredIsOfferedAgainAtTheNextStart) {
  settled(*start(two_solvers(), options(asking())), Doubling{});
  auto engine = start(two_solvers(), options(asking()));
  EventLog log(*engine);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  EXPECT_EQ(log.wait(EventKind::offered).after.solver, "other");
}

TEST_F(AdoptionTest, AnOfferOutlivesItsEngine) {
  auto engine = start(two_solvers(), options(asking()));
  Offer offer;
  {
    EventLog log(*engine);
    settled(*engine, Doubling{});
    offer = log.wait(EventKind::offered).offer;
  }
  engine.reset();
  offer.adopt();
  offer.decline();
  Offer().adopt();
}

TEST_F(AdoptionTest, WhatWasDeclinedCannotBeAdopted) {
  auto engine = start(two_solvers(), options(asking()));
  EventLog log(*engine);
  settled(*engine, Doubling{});
  const Offer stale = log.wait(EventKind::offered).offer;
  stale.decline();
  ASSERT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  stale.adopt();
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback") << "it was declined before";
}

TEST_F(AdoptionTest, WithoutAnythingToRunNothingIsAsked) {
  const auto gate = std::make_shared<Gate>();
  gate->open();
  auto engine = start(scripted_operation({scripted_solver("fallback", {.refusal = "it is switched off"}),
                                          scripted_solver("compiled", {.gate = gate, .compiles = true})}),
                      options(asking()));
  EXPECT_FALSE(engine->find(Doubling{}));
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "compiled");
  EXPECT_EQ(engine->statistics().offered, 0u);
}

// An upgrade that measurements liked and production does not: it has become slower than what it replaced.
class RollBackTest : public AdoptionTest {
 protected:
  std::shared_ptr<std::atomic<double>> factor_ = std::make_shared<std::atomic<double>>(1.0);
  std::shared_ptr<const ScriptedOperation> spoiled_ = scripted_operation(
      {scripted_solver("fallback", {.time = 200us}),
       scripted_solver("other", {.time = 100us, .own_speed = [factor = factor_](std::chrono::nanoseconds) {
                                   return factor->load();
                                 }})});
  // The fallback has been in production before it was replaced.
  void replace_the_fallback(Engine& engine) {
    engine.pause();
    engine.find(Doubling{});
    report_window(engine, 210us);
    engine.resume();
    ASSERT_EQ(solver(settled(engine, Doubling{})), "other");
  }
};

TEST_F(RollBackTest, UndoesAnUpgradeThatIsSlowerThanItsPredecessor) {
  auto engine = start(spoiled_, options());
  EventLog log(*engine);
  replace_the_fallback(*engine);
  *factor_ = 2.5;
  report_window(*engine, 260us);
  const Event undone = log.wait(EventKind::rolled_back);
  EXPECT_EQ(undone.before.solver, "other");
  EXPECT_EQ(undone.after.solver, "fallback");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  EXPECT_EQ(engine->statistics().rolled_back, 1u);
  engine.reset();
  EXPECT_EQ(solver(start(spoiled_, options(Policy::frozen()))->find(Doubling{})), "fallback") << "it is remembered";
}

TEST_F(RollBackTest, KeepsWhatIsFasterWhenMeasuredInTurns) {
  auto engine = start(spoiled_, options());
  EventLog log(*engine);
  replace_the_fallback(*engine);
  report_window(*engine, 260us);
  log.wait(EventKind::verified);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "other") << "production was busy with something else";
  EXPECT_EQ(engine->statistics().verified, 1u);
  report_window(*engine, 262us);
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(engine->statistics().verified, 1u) << "it is doubted once";
  EXPECT_EQ(engine->statistics().rolled_back, 0u);
}

TEST_F(RollBackTest, ABetterUpgradeIsLeftAlone) {
  auto engine = start(spoiled_, options());
  replace_the_fallback(*engine);
  report_window(*engine, 150us);
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(engine->statistics().verified, 0u);
}

}  // namespace
}  // namespace hone
