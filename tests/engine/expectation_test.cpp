#include "engine/expectation.hpp"

#include <gtest/gtest.h>

#include "tests/support/engine_fixture.hpp"

namespace hone::engine {
namespace {

using namespace std::chrono_literals;

const Expectation base{.finds = 1000, .span = 10s, .time = 50us, .known = Provenance::system};

template <class T>
Expectation with(T Expectation::*member, T value) {
  Expectation changed = base;
  changed.*member = value;
  return changed;
}

TEST(ExpectedSaving, IsTheTimeOfLaunchesASecondTimesTheTypicalShare) {
  EXPECT_DOUBLE_EQ(expected_saving(base), 100 * 50e-6 * 0.2);
  EXPECT_DOUBLE_EQ(expected_saving(with(&Expectation::finds, std::uint64_t{2000})), 2 * expected_saving(base));
  EXPECT_DOUBLE_EQ(expected_saving(with(&Expectation::span, std::chrono::nanoseconds(20s))), expected_saving(base) / 2);
}

TEST(ExpectedSaving, CountsTheShortestSpanAsASecond) {
  EXPECT_DOUBLE_EQ(expected_saving({.finds = 1, .span = 1ns, .time = 50us}),
                   expected_saving({.finds = 1, .span = 1s, .time = 50us}));
}

TEST(ExpectedSaving, TakesABindingForAHotLoop) {
  EXPECT_DOUBLE_EQ(expected_saving(with(&Expectation::bound, true)), bound_rate * 50e-6 * 0.2);
  EXPECT_DOUBLE_EQ(expected_saving({.finds = 5000, .time = 50us, .known = Provenance::system, .bound = true}),
                   5000 * 50e-6 * 0.2);
}

TEST(RecountFunction, AsksAgainAtTwiceTheFindsAndForgetsAfterAMinute) {
  EXPECT_FALSE(recount(640, 60s).anew);
  EXPECT_EQ(recount(640, 60s).ask_again_at, 1280u);
  EXPECT_EQ(recount(0, 0s).ask_again_at, 0u) << "with the next find that is counted";
  EXPECT_TRUE(recount(640, 61s).anew);
  EXPECT_EQ(recount(640, 61s).ask_again_at, 0u);
}

TEST(ExpectedSaving, GrowsWithIgnoranceAndDrift) {
  EXPECT_GT(expected_saving(with(&Expectation::known, Provenance::fallback)), expected_saving(base));
  EXPECT_LT(expected_saving(with(&Expectation::known, Provenance::user)), expected_saving(base));
  Expectation drifted = with(&Expectation::known, Provenance::user);
  drifted.drifted = true;
  EXPECT_DOUBLE_EQ(expected_saving(drifted), expected_saving(base));
}

TEST(PriorityFunction, PutsWhatACallerWaitsForFirst) {
  const Expectation hot{.finds = 1'000'000, .time = 10ms, .known = Provenance::fallback};
  const Expectation asked{.finds = 1, .known = Provenance::user, .asked = true};
  EXPECT_GT(priority(asked), priority(hot));
}

TEST(ExpectedCost, GrowsWithEvaluationsAndEndsAtTheTimeBox) {
  Policy policy = Policy::serving();
  EXPECT_EQ(expected_cost(Task::none, base, policy), 0ns);
  EXPECT_EQ(expected_cost(Task::verify, base, policy), 4 * (2ms + 20 * 50us));
  EXPECT_EQ(expected_cost(Task::tune, base, policy), 30 * (2ms + 20 * 50us));
  EXPECT_EQ(expected_cost(Task::tune, with(&Expectation::time, std::chrono::duration<double, std::nano>(1s)), policy),
            policy.max_tuning_time.value());
}

TEST(Pays, WhenTheSavingWithinThePaybackTimeCoversTheCost) {
  Policy policy = Policy::serving();
  policy.payback_time = 100s;  // 0.001 x 100 s = 100 ms
  EXPECT_TRUE(pays(Task::tune, base, policy)) << "it costs 90 ms";
  policy.payback_time = 80s;
  EXPECT_FALSE(pays(Task::tune, base, policy));
  EXPECT_TRUE(pays(Task::tune, with(&Expectation::asked, true), policy));
  EXPECT_TRUE(pays(Task::none, base, policy)) << "preparing what is known costs no measurement";
  policy.enforce = Enforce::search;
  EXPECT_TRUE(pays(Task::tune, base, policy)) << "it is enforced";
  policy = Policy::benchmark();
  EXPECT_TRUE(pays(Task::tune, {.finds = 1, .span = 1000h, .time = 1ns, .known = Provenance::user}, policy));
}

using test::Doubling;

class PaybackTest : public test::EngineFixture {};
class HotTest : public PaybackTest, public ::testing::WithParamInterface<bool> {};

// A problem that is asked for now and then is not worth its tuning; once it is hot it is.
TEST_P(HotTest, LeavesAColdProblemUntilItIsHot) {
  Policy policy = eager();
  policy.payback_time = 100ms;
  auto engine = start(two_solvers(), options(policy));
  test::EventLog log(*engine);
  engine->find(Doubling{});
  EXPECT_NE(log.wait(EventKind::job_dropped).cause.find("it would cost"), std::string::npos);
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(engine->statistics().trials, 0u);
  EXPECT_EQ(solver(engine->find(Doubling{})), "fallback");
  // No time passes: all of these are within the second that is the shortest span.
  for (int i = 0; i < 200'000 && engine->statistics().tuned == 0; ++i) {
    engine->find(Doubling{});
    // In both orders: the job is left before the next find is counted, and after many were.
    if (GetParam() && i % 100 == 0) {
      EXPECT_TRUE(engine->drain(60s));
    }
  }
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "other");
  EXPECT_EQ(log.count(EventKind::job_dropped), 1u) << "it is told once";
}

INSTANTIATE_TEST_SUITE_P(WhoIsFaster, HotTest, ::testing::Bool(),
                         [](const auto& each) { return std::string(each.param ? "TheBackground" : "TheCallers"); });

TEST_F(PaybackTest, LeavesAColdProblemUntilItIsBound) {
  Policy policy = eager();
  policy.payback_time = 10s;
  auto engine = start(two_solvers(), options(policy));
  test::EventLog log(*engine);
  engine->find(Doubling{});
  log.wait(EventKind::job_dropped);
  const Binding bound = engine->bind(Doubling{});
  log.wait(EventKind::upgraded);
  EXPECT_EQ(bound->candidate().solver, "other");
}

TEST_F(PaybackTest, DoesWhatACallerWaitsFor) {
  Policy policy = eager();
  policy.payback_time = 1ns;
  auto engine = start(two_solvers(), options(policy));
  engine->pause();
  engine->find(Doubling{.elements = 32});
  auto future = engine->async_settle(Doubling{.elements = 64}, asio::use_future);
  engine->resume();
  EXPECT_TRUE(future.get());
  EXPECT_LE(engine->statistics().tuned, 1u);
}

}  // namespace
}  // namespace hone::engine
