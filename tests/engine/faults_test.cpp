// Bad input, failing solvers, and trouble with the store: what each gets.
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/library.hpp"
#include "tests/support/engine_fixture.hpp"

namespace hone {
namespace {

using namespace test;

class FaultsTest : public EngineFixture {
 protected:
  static std::shared_ptr<const ScriptedOperation> with_bad(Fault fault,
                                                           std::shared_ptr<Gate> gate = std::make_shared<Gate>()) {
    return scripted_operation({scripted_solver("fallback", {.time = 200us}),
                               scripted_solver("bad", {.time = 10us, .fault = fault, .gate = std::move(gate)}),
                               scripted_solver("good", {.time = 100us})});
  }
};

TEST_F(FaultsTest, InvalidProblemsGetAReasonAndNothingIsStored) {
  {
    auto engine = start(with_bad(Fault::none), options());
    for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{-5}, INT64_MIN}) {
      const Solution refused = engine->find(Doubling{.elements = elements});
      EXPECT_FALSE(refused);
      EXPECT_EQ(refused.reason(), "doubling: elements must be at least 1");
      EXPECT_EQ(refused.run(*std::unique_ptr<Stream>(ScriptedDevice(clock_).make_stream(StreamPriority::normal)), {}),
                Errc::no_solution);
      EXPECT_FALSE(engine->bind(Doubling{.elements = elements}).get());
    }
    auto future = engine->async_settle(Doubling{.elements = 0}, asio::use_future);
    EXPECT_THROW(future.get(), std::system_error);
    EXPECT_EQ(engine->statistics().problems, 0u);
    EXPECT_EQ(engine->statistics().queued, 0u);
  }
  storage::Library library({.user_database = directory_.path("user")});
  const Problem zero(Doubling{.elements = 0});
  EXPECT_FALSE(library.find(zero.key(), zero.text(), ScriptedDevice(clock_).environment()));
}

TEST_F(FaultsTest, AProblemThatNothingCanRunNamesEverySolversRefusal) {
  auto engine = start(scripted_operation({scripted_solver("first", {.refusal = "it wants even sizes"}),
                                          scripted_solver("second", {.fault = Fault::throws_in_applicable}),
                                          scripted_solver("third", {.fault = Fault::throws_in_prepare})}),
                      options());
  const Solution refused = engine->find(Doubling{});
  EXPECT_FALSE(refused);
  EXPECT_EQ(
      refused.reason(),
      "no solver of doubling can run this problem: first: it wants even sizes; second: scripted failure; third: it "
      "cannot be prepared");
}

TEST_F(FaultsTest, AnUnknownOperationAndAMissingDeviceAreNamed) {
  EngineOptions bare = options();
  bare.clock = clock_;
  Engine engine(bare);
  EXPECT_NE(engine.find(Doubling{}).reason().find("no device"), std::string::npos);
  engine.add(std::make_shared<ScriptedDevice>(clock_));
  EXPECT_NE(engine.find(Doubling{}).reason().find("no operation 'doubling'"), std::string::npos);
  engine.add(with_bad(Fault::none));
  EXPECT_TRUE(engine.find(Doubling{})) << "a refusal is not remembered";
}

TEST_F(FaultsTest, IncompleteRegistrationsAreErrors) {
  EngineOptions bare;
  bare.clock = clock_;
  Engine engine(bare);
  EXPECT_THROW(engine.add(std::shared_ptr<Device>()), Error);
  EXPECT_THROW(engine.add(std::shared_ptr<const Operation>()), Error);
  engine.add(std::make_shared<ScriptedDevice>(clock_));
  EXPECT_THROW(engine.add(std::make_shared<ScriptedDevice>(clock_)), Error);
  engine.add(with_bad(Fault::none));
  EXPECT_THROW(engine.add(with_bad(Fault::none)), Error);
  EXPECT_THROW(engine.add(scripted_operation({scripted_solver("twin"), scripted_solver("twin")})), Error);
}

// Whatever a solver does, it is quarantined once, the engine goes on, and the best of the rest wins.
TEST_F(FaultsTest, FailingSolversAreQuarantinedAndNeverTriedAgain) {
  for (const Fault fault :
       {Fault::throws_in_prepare, Fault::throws_other_in_prepare, Fault::prepares_nothing, Fault::launch_fails,
        Fault::wrong_result, Fault::result_is_not_a_number, Fault::changes_input}) {
    SCOPED_TRACE(static_cast<int>(fault));
    EngineOptions own = options();
    own.database = directory_.path("user" + std::to_string(static_cast<int>(fault)));
    {
      auto engine = start(with_bad(fault), own);
      EventLog log(*engine);
      EXPECT_EQ(solver(settled(*engine, Doubling{})), "good");
      const Event quarantined = log.wait(EventKind::quarantined);
      EXPECT_EQ(quarantined.after.solver, "bad");
      EXPECT_FALSE(quarantined.cause.empty());
      EXPECT_EQ(engine->statistics().quarantined, 1u);
    }
    own.policy.enforce = Enforce::search_db_update;
    const auto operation = with_bad(fault);
    auto engine = start(operation, own);
    EXPECT_EQ(solver(settled(*engine, Doubling{})), "good");
    EXPECT_EQ(dynamic_cast<const ScriptedSolver&>(*operation->solvers()[1]).launches(), 0);
    EXPECT_EQ(engine->statistics().quarantined, 0u);
  }
}

TEST_F(FaultsTest, AHangingSolverIsQuarantinedAndItsWorkerReplaced) {
  for (const Fault fault : {Fault::hangs_in_prepare, Fault::hangs_in_run}) {
    SCOPED_TRACE(static_cast<int>(fault));
    const auto gate = std::make_shared<Gate>();
    EngineOptions own = options();
    own.database = directory_.path("user" + std::to_string(static_cast<int>(fault)));
    own.hang_timeout = 30s;
    auto engine = start(with_bad(fault, gate), own);
    EventLog log(*engine);
    engine->find(Doubling{});
    gate->wait_for_arrival();
    clock_->advance(31s);
    const Event quarantined = log.wait(EventKind::quarantined);
    EXPECT_EQ(quarantined.after.solver, "bad");
    EXPECT_NE(quarantined.cause.find("did not come back within 30000 ms"), std::string::npos) << quarantined.cause;
    EXPECT_EQ(solver(settled(*engine, Doubling{})), "good");
    gate->open();
  }
}

TEST_F(FaultsTest, AnAnswerThatTurnsOutWrongIsWithdrawn) {
  auto engine = start(scripted_operation({scripted_solver("wrong", {.time = 10us, .fault = Fault::wrong_result}),
                                          scripted_solver("right", {.time = 100us})}),
                      options());
  EventLog log(*engine);
  EXPECT_EQ(solver(engine->find(Doubling{})), "wrong");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "right");
  const Event withdrawn = log.wait(EventKind::withdrawn);
  EXPECT_EQ(withdrawn.before.solver, "wrong");
  EXPECT_EQ(withdrawn.after.solver, "right");
}

TEST_F(FaultsTest, AProblemWhoseEverySolverFailsEndsWithAnEvent) {
  auto engine = start(scripted_operation({scripted_solver("wrong", {.fault = Fault::wrong_result})}), options());
  EventLog log(*engine);
  const Solution after = settled(*engine, Doubling{});
  EXPECT_FALSE(after);
  EXPECT_NE(after.reason().find("quarantined"), std::string::npos) << after.reason();
  log.wait(EventKind::job_failed);
  EXPECT_EQ(engine->statistics().failed, 1u);
}

TEST_F(FaultsTest, AProblemThatExceedsTheMemoryCapKeepsItsAnswer) {
  EngineOptions small = options();
  small.policy.max_buffer_bytes = std::uint64_t{1} << 16;
  auto engine = start(with_bad(Fault::none), small);
  EventLog log(*engine);
  EXPECT_EQ(solver(settled(*engine, Doubling{.elements = 1 << 20})), "fallback");
  EXPECT_EQ(log.wait(EventKind::job_failed).error, Errc::out_of_memory);
}

TEST_F(FaultsTest, AFullQueueDropsTheColdestAndAsksAgainWhenItIsFound) {
  EngineOptions one = options();
  one.queue_capacity = 1;
  const auto gate = std::make_shared<Gate>();
  auto engine = start(with_bad(Fault::hangs_in_run, gate), one);
  EventLog log(*engine);
  engine->find(Doubling{.elements = 1});
  gate->wait_for_arrival();  // one runs, one may wait
  engine->find(Doubling{.elements = 2});
  engine->find(Doubling{.elements = 3});
  log.wait(EventKind::job_dropped);
  EXPECT_EQ(engine->statistics().dropped, 1u);
  gate->open();
  EXPECT_TRUE(engine->drain(60s));
  for (std::int64_t elements = 2; elements <= 3; ++elements) {
    EXPECT_NE(solver(settled(*engine, Doubling{.elements = elements})), "fallback");
  }
}

TEST_F(FaultsTest, AnUnusableDatabaseMeansMemoryOnlyAndAnEvent) {
  const std::string file = directory_.path("file");
  std::ofstream(file) << "this is no database";
  EngineOptions bad = options();
  bad.database = file;
  auto engine = start(with_bad(Fault::none), bad);
  EventLog log(*engine);  // comes after the degradation, and hears of it all the same
  const Event degraded = log.wait(EventKind::store_degraded);
  EXPECT_FALSE(degraded.cause.empty());
  EXPECT_FALSE(degraded.remedy.empty());
  EXPECT_TRUE(engine->statistics().store_degraded);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "bad");
  std::ifstream untouched(file);
  std::string content((std::istreambuf_iterator<char>(untouched)), {});
  EXPECT_EQ(content, "this is no database");
}

TEST_F(FaultsTest, AMissingSystemDatabaseIsAnEventAndTheRestIsServed) {
  EngineOptions missing = options();
  missing.system_databases = {directory_.path("nowhere")};
  auto engine = start(with_bad(Fault::none), missing);
  EventLog log(*engine);
  EXPECT_NE(log.wait(EventKind::store_degraded).cause.find("nowhere"), std::string::npos);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "bad");
}

TEST(EngineConstruction, RejectsAnUnknownVariable) {
  ASSERT_EQ(setenv("HONE_TOLERANZ", "1", 1), 0);
  try {
    Engine engine;
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("HONE_TOLERANZ"), std::string::npos);
  }
  unsetenv("HONE_TOLERANZ");
}

// Lost while two problems are measured in turn: told once, and both are given up. What answered still answers.
TEST_F(FaultsTest, ALostDeviceIsToldOnceAndGetsNoMoreJobs) {
  auto engine = start(with_bad(Fault::none), options());
  EventLog log(*engine);
  engine->pause();
  const Solution answered = engine->find(Doubling{});
  EXPECT_TRUE(answered);
  engine->find(Doubling{.elements = 77});
  auto first = engine->async_settle(Doubling{}, asio::use_future);
  auto second = engine->async_settle(Doubling{.elements = 77}, asio::use_future);
  device_->lose();
  engine->resume();
  for (auto* settled : {&first, &second}) {
    try {
      settled->get();
      ADD_FAILURE() << "it settled";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), Errc::no_device);
    }
  }
  const Event lost = log.wait(EventKind::device_lost);
  EXPECT_EQ(lost.device, "scripted");
  EXPECT_EQ(lost.error, Errc::no_device);
  EXPECT_NE(lost.remedy, "");
  EXPECT_EQ(engine->find(Doubling{}).candidate(), answered.candidate());
  EXPECT_THROW(engine->async_settle(Doubling{.elements = 78}, asio::use_future).get(), std::system_error);
  EXPECT_EQ(log.count(EventKind::device_lost), 1u);
}

}  // namespace
}  // namespace hone
