// An engine whose policy isolates: what its users see of candidates that ruin their process.
#include <sys/wait.h>

#include "tests/support/child_processes.hpp"
#include "tests/support/engine_fixture.hpp"
#include "tests/support/faulty_operation.hpp"

namespace hone {
namespace {

using namespace test;

class EngineIsolationTest : public ::testing::Test {
 protected:
  EngineIsolationTest() { engine::set_log_level(LogLevel::off); }

  EngineOptions isolating() const {
    EngineOptions options;
    options.database = directory_.path("user");
    options.log_level = LogLevel::off;
    options.policy = Policy::offline();
    options.policy.isolate = true;
    options.policy.max_evaluations = 20;
    options.isolation_program = {ISOLATED_PROGRAM};
    return options;
  }
  static std::unique_ptr<Engine> start(const EngineOptions& options, std::shared_ptr<const Operation> operation) {
    auto engine = std::make_unique<Engine>(options);
    engine->add(host_device());
    engine->add(std::move(operation));
    return engine;
  }
  static Solution settled(Engine& engine) { return engine.async_settle(Increment{}, asio::use_future).get(); }

  TemporaryDirectory directory_;
};

TEST_F(EngineIsolationTest, CrashesAreQuarantinedAndTheBestOfTheRestAnswers) {
  const std::vector<std::string> faults = {"segmentation_fault", "aborts", "exits", "crashes_in_prepare", "throws"};
  {
    auto engine = start(isolating(), faulty_operation(faults));
    EventLog log(*engine);
    const Solution solution = settled(*engine);
    EXPECT_EQ(solution.candidate().solver, "good");
    EXPECT_EQ(solution.provenance(), Provenance::user);
    for (const std::string& fault : faults) {
      const Event quarantined = log.wait(
          [&](const Event& event) { return event.kind == EventKind::quarantined && event.after.solver == fault; });
      EXPECT_NE(quarantined.cause.find("process"), std::string::npos) << quarantined.cause;
    }
    EXPECT_EQ(engine->statistics().quarantined, faults.size());
    // The answer runs here, on the caller's own memory.
    std::vector<float> x(1024, 2), y(1024);
    EXPECT_FALSE(solution.run(*host_stream(), {x.data(), y.data()}));
    EXPECT_EQ(y[1023], 3);
  }
  EXPECT_TRUE(children_of(getpid()).empty());
  // Remembered: nothing is tried a second time.
  EngineOptions again = isolating();
  again.policy.enforce = Enforce::search_db_update;
  auto engine = start(again, faulty_operation(faults));
  EXPECT_EQ(settled(*engine).candidate().solver, "good");
  EXPECT_EQ(engine->statistics().quarantined, 0u);
}

TEST_F(EngineIsolationTest, AHangCostsItsCandidateAndTheJobGoesOn) {
  EngineOptions options = isolating();
  options.hang_timeout = 2s;
  auto engine = start(options, faulty_operation({"hangs"}));
  EventLog log(*engine);
  EXPECT_EQ(settled(*engine).candidate().solver, "good");
  const Event quarantined = log.wait(EventKind::quarantined);
  EXPECT_EQ(quarantined.after.solver, "hangs");
  EXPECT_NE(quarantined.cause.find("did not come back"), std::string::npos) << quarantined.cause;
  EXPECT_EQ(engine->statistics().quarantined, 1u);
}

TEST_F(EngineIsolationTest, AnEngineThatEndsDuringAHangLeavesNoProcess) {
  EngineOptions options = isolating();
  options.shutdown_timeout = 10ms;
  {
    auto engine = start(options, faulty_operation({"hangs"}));
    engine->find(Increment{});
    while (children_of(getpid()).empty()) std::this_thread::sleep_for(1ms);
  }
  // The abandoned worker's thread, which is on its way out, reaps it.
  while (!children_of(getpid()).empty()) std::this_thread::sleep_for(1ms);
}

TEST_F(EngineIsolationTest, AProgramThatDoesNotServeIsAFailedJobThatSaysSo) {
  EngineOptions options = isolating();
  options.isolation_program = {"/bin/false"};
  auto engine = start(options, faulty_operation());
  EventLog log(*engine);
  EXPECT_EQ(settled(*engine).candidate().solver, "slow");
  const Event failed = log.wait(EventKind::job_failed);
  EXPECT_EQ(failed.error, Errc::no_isolation);
  EXPECT_NE(failed.cause.find("hone::serve_isolated"), std::string::npos) << failed.cause;
}

TEST_F(EngineIsolationTest, IsolatingWithoutAProgramIsAnError) {
  EngineOptions options = isolating();
  options.isolation_program.clear();
  EXPECT_THROW(Engine{options}, Error);
  options.policy.isolate = false;
  Engine engine(options);
  Policy policy = engine.policy();
  policy.isolate = true;
  EXPECT_THROW(engine.set_policy(policy), Error);
}

}  // namespace
}  // namespace hone
