// What find answers, what the background does with it, and what is remembered.
#include <thread>

#include <gtest/gtest.h>

#include "storage/library.hpp"
#include "tests/support/engine_fixture.hpp"

namespace hone {
namespace {

using namespace test;

class DecidingTest : public EngineFixture {
 protected:
  // A database in which another machine's tuning is recorded: a system database for the engines of a test.
  std::string recorded(const std::shared_ptr<const Operation>& operation, const Doubling& problem = {}) {
    const std::string path = directory_.path("system");
    auto engine = start(operation, {.database = path, .policy = eager()});
    settled(*engine, problem);
    return path;
  }
};

TEST_F(DecidingTest, AnswersAtOnceWithTheOrdersDefault) {
  auto engine = start(two_solvers(), options(Policy::frozen()));
  const Solution solution = engine->find(Doubling{});
  ASSERT_TRUE(solution) << solution.reason();
  EXPECT_EQ(solver(solution), "fallback");
  EXPECT_EQ(solution.provenance(), Provenance::fallback);
  EXPECT_FALSE(solution.timing().known());

  ScriptedDevice device(clock_);
  const auto stream = device.make_stream(StreamPriority::normal);
  std::vector<float> x(16, 3.0F), y(16);
  EXPECT_FALSE(solution.run(*stream, {x.data(), y.data()}));
  EXPECT_EQ(y, std::vector<float>(16, 6.0F));
}

TEST_F(DecidingTest, TunesWhatNothingIsKnownOfAndUpgrades) {
  auto engine = start(two_solvers(), options());
  EventLog log(*engine);
  const Solution before = engine->find(Doubling{});
  const Solution after = settled(*engine, Doubling{});
  EXPECT_EQ(solver(before), "fallback");
  EXPECT_EQ(solver(after), "other");
  EXPECT_EQ(after.provenance(), Provenance::user);
  EXPECT_NEAR(after.timing().median.count(), 100'000, 1000);
  EXPECT_EQ(engine->find(Doubling{}), after);
  EXPECT_TRUE(before) << "an upgrade does not invalidate what was given out";

  const Event upgraded = log.wait(EventKind::upgraded);
  EXPECT_EQ(upgraded.problem, Problem(Doubling{}).text());
  EXPECT_EQ(upgraded.before.solver, "fallback");
  EXPECT_EQ(upgraded.after.solver, "other");
  EXPECT_EQ(upgraded.device, "scripted");
  log.wait(EventKind::tuned);
  EXPECT_EQ(engine->statistics().upgrades, 1u);
  EXPECT_EQ(engine->statistics().tuned, 1u);
  EXPECT_EQ(engine->statistics().problems, 1u);
}

TEST_F(DecidingTest, RemembersAndMeasuresNothingAtTheNextStart) {
  settled(*start(two_solvers(), options()), Doubling{});
  const auto operation = two_solvers();
  auto engine = start(operation, options());
  const Solution solution = engine->find(Doubling{});
  EXPECT_EQ(solver(solution), "other");
  EXPECT_EQ(solution.provenance(), Provenance::user);
  EXPECT_TRUE(solution.timing().known());
  EXPECT_EQ(settled(*engine, Doubling{}), solution);
  EXPECT_EQ(engine->statistics().trials, 0u);
  EXPECT_EQ(operation->references(), 0);
}

// The next one must answer what the callback was told.
TEST_F(DecidingTest, IsDurableBeforeACallbackHears) {
  auto engine = start(two_solvers(), options());
  EventLog log(*engine);
  engine->find(Doubling{});
  log.wait(EventKind::upgraded);
  storage::Library library({.user_database = directory_.path("user")});
  Environment environment = ScriptedDevice(clock_).environment();
  const auto found = library.find(Problem(Doubling{}).key(), Problem(Doubling{}).text(), environment);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->match, storage::EnvironmentMatch::same);
  EXPECT_EQ(found->record.best.candidate.solver, "other");
  ASSERT_EQ(found->record.rivals.size(), 1u);
  EXPECT_EQ(found->record.rivals[0].candidate.solver, "fallback");
}

TEST_F(DecidingTest, AcceptsASystemRecordThatHoldsAndMakesItTheUsers) {
  const std::string system = recorded(two_solvers());
  auto with_system = options();
  with_system.system_databases = {system};
  auto engine = start(two_solvers(200us, 105us), with_system);
  EventLog log(*engine);
  const Solution before = engine->find(Doubling{});
  EXPECT_EQ(before.provenance(), Provenance::system);
  EXPECT_EQ(solver(before), "other");
  const Solution after = settled(*engine, Doubling{});
  EXPECT_EQ(after.provenance(), Provenance::user);
  EXPECT_EQ(solver(after), "other");
  EXPECT_NEAR(after.timing().median.count(), 105'000, 1000) << "the time is the one measured here";
  const Event verified = log.wait(EventKind::verified);
  EXPECT_EQ(verified.verdict, Verdict::accept);
  EXPECT_NEAR(verified.ratio, 1.05, 0.01);
  EXPECT_EQ(engine->statistics().upgrades, 0u);
  EXPECT_EQ(engine->statistics().tuned, 0u);
}

TEST_F(DecidingTest, TunesWhenTheRecordedTimeDoesNotHold) {
  const std::string system = recorded(two_solvers());
  auto with_system = options();
  with_system.system_databases = {system};
  const auto three =
      scripted_operation({scripted_solver("fallback", {.time = 400us}), scripted_solver("other", {.time = 300us}),
                          scripted_solver("new", {.time = 50us})});
  auto engine = start(three, with_system);
  EventLog log(*engine);
  EXPECT_EQ(solver(engine->find(Doubling{})), "other");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "new");
  EXPECT_EQ(log.wait(EventKind::verified).verdict, Verdict::tune);
  EXPECT_NEAR(log.wait(EventKind::verified).ratio, 3.0, 0.05);
  EXPECT_EQ(log.wait(EventKind::upgraded).after.solver, "new");
}

// The better rival is stored meanwhile; that is no other process's record to stop at.
TEST_F(DecidingTest, GoesOnTuningAfterABetterRivalWasAdopted) {
  const std::string system = recorded(two_solvers());
  auto with_system = options();
  with_system.system_databases = {system};
  const auto three =
      scripted_operation({scripted_solver("fallback", {.time = 250us}), scripted_solver("other", {.time = 400us}),
                          scripted_solver("new", {.time = 50us})});
  auto engine = start(three, with_system);
  EventLog log(*engine);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "new");
  EXPECT_EQ(log.wait(EventKind::upgraded).after.solver, "fallback") << "served while the search went on";
  EXPECT_EQ(engine->statistics().tuned, 1u);
}

TEST_F(DecidingTest, TakesARecordedRivalThatIsFasterHere) {
  const std::string system = recorded(two_solvers());
  auto with_system = options();
  with_system.system_databases = {system};
  auto engine = start(two_solvers(60us, 100us), with_system);
  EventLog log(*engine);
  EXPECT_EQ(solver(engine->find(Doubling{})), "other");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  EXPECT_EQ(log.wait(EventKind::verified).verdict, Verdict::re_rank);
  EXPECT_EQ(engine->statistics().tuned, 0u) << "the recorded candidates sufficed";
}

TEST_F(DecidingTest, KeepsTheIncumbentInATie) {
  auto engine = start(two_solvers(100us, 99us), options());
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  EXPECT_EQ(engine->statistics().upgrades, 0u);
}

TEST_F(DecidingTest, TreatsTheUsersRecordOfAnotherEnvironmentAsAHint) {
  settled(*start(two_solvers(), options()), Doubling{});
  EngineOptions same_database = options();
  same_database.clock = clock_;
  Engine engine(same_database);
  engine.add(std::make_shared<ScriptedDevice>(clock_, Conditions{}, "another"));
  engine.add(two_solvers());
  const Solution hint = engine.find(Doubling{});
  EXPECT_EQ(hint.provenance(), Provenance::hint);
  EXPECT_EQ(solver(hint), "other");
  EXPECT_EQ(settled(engine, Doubling{}).provenance(), Provenance::user);
  EXPECT_GT(engine.statistics().trials, 0u);
}

TEST_F(DecidingTest, SkipsStoredCandidatesThatDoNotFit) {
  const std::string system = recorded(two_solvers());
  auto with_system = options(Policy::frozen());
  with_system.system_databases = {system};
  const auto renewed = scripted_operation({scripted_solver("fallback"), scripted_solver("other", {.version = 2})});
  auto engine = start(renewed, with_system);
  // The record's rival is of a version that is still there.
  const Solution solution = engine->find(Doubling{});
  EXPECT_EQ(solver(solution), "fallback");
  EXPECT_EQ(solution.provenance(), Provenance::system);
  EXPECT_EQ(engine->statistics().skipped_records, 1u);
}

TEST_F(DecidingTest, NeverWaitsForACompilerAndOffersWhatIsReady) {
  const auto compiled = [](std::shared_ptr<Gate> gate) {
    return scripted_operation(
        {scripted_solver("fallback"),
         scripted_solver("compiled",
                         {.time = 50us, .fault = Fault::hangs_in_prepare, .gate = gate, .compiles = true})});
  };
  const auto open = std::make_shared<Gate>();
  open->open();
  EXPECT_EQ(solver(settled(*start(compiled(open), options()), Doubling{})), "compiled");

  const auto held = std::make_shared<Gate>();
  auto engine = start(compiled(held), options());
  EventLog log(*engine);
  const Solution now = engine->find(Doubling{});
  EXPECT_EQ(solver(now), "fallback") << "the compiler has not returned";
  EXPECT_EQ(now.provenance(), Provenance::user) << "it was measured too, as the record's rival";
  held->wait_for_arrival();
  EXPECT_EQ(engine->find(Doubling{}), now);
  held->open();
  EXPECT_EQ(log.wait(EventKind::prepared).after.solver, "compiled");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "compiled");
  EXPECT_EQ(engine->statistics().prepared, 1u);
}

TEST_F(DecidingTest, AnswersEmptyWhileTheOnlySolverCompiles) {
  const auto gate = std::make_shared<Gate>();
  auto engine =
      start(scripted_operation(
                {scripted_solver("fallback", {.refusal = "it is switched off"}),
                 scripted_solver("compiled", {.fault = Fault::hangs_in_prepare, .gate = gate, .compiles = true})}),
            options());
  const Solution now = engine->find(Doubling{});
  EXPECT_FALSE(now);
  EXPECT_NE(now.reason().find("compiled is being compiled"), std::string::npos) << now.reason();
  gate->open();
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "compiled");
}

TEST_F(DecidingTest, MeasuresByFindMode) {
  const std::string system = recorded(two_solvers());
  struct Row {
    FindMode mode;
    bool known_measures, unknown_measures;
  };
  for (const Row& row : {Row{FindMode::fast, false, false}, Row{FindMode::normal, true, true},
                         Row{FindMode::hybrid, false, true}, Row{FindMode::dynamic_hybrid, false, true},
                         Row{FindMode::trust_verify, true, true}, Row{FindMode::trust_verify_full, true, true}}) {
    SCOPED_TRACE(symbols(FindMode{})[static_cast<std::size_t>(row.mode)]);
    Policy policy = eager();
    policy.find_mode = row.mode;
    auto engine = start(two_solvers(), {.system_databases = {system}, .policy = policy});
    settled(*engine, Doubling{});
    const std::uint64_t known = engine->statistics().trials;
    settled(*engine, Doubling{.elements = 32});
    EXPECT_EQ(known > 0, row.known_measures);
    EXPECT_EQ(engine->statistics().trials > known, row.unknown_measures);
  }
}

TEST_F(DecidingTest, RewritesWhatIsStoredWhenEnforced) {
  settled(*start(two_solvers(), options()), Doubling{});
  Policy policy = eager();
  policy.enforce = Enforce::db_update;
  {
    auto engine = start(two_solvers(50us, 100us), options(policy));
    EXPECT_EQ(solver(engine->find(Doubling{})), "other");
    EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
  }
  EXPECT_EQ(solver(start(two_solvers(), options())->find(Doubling{})), "fallback");
}

TEST_F(DecidingTest, DropsRecordsWhenToldToClean) {
  settled(*start(two_solvers(), options()), Doubling{});
  Policy policy = eager();
  policy.enforce = Enforce::db_clean;
  {
    auto engine = start(two_solvers(), options(policy));
    EXPECT_EQ(engine->find(Doubling{}).provenance(), Provenance::fallback);
    settled(*engine, Doubling{});
    EXPECT_EQ(engine->statistics().trials, 0u);
  }
  EXPECT_EQ(start(two_solvers(), options(Policy::frozen()))->find(Doubling{}).provenance(), Provenance::fallback);
}

TEST_F(DecidingTest, VerifiesUserRecordsAgainUnderTheBenchmarkPolicy) {
  settled(*start(two_solvers(), options()), Doubling{});
  auto engine = start(two_solvers(200us, 108us), options(Policy::benchmark()));
  EventLog log(*engine);
  settled(*engine, Doubling{});
  EXPECT_EQ(log.wait(EventKind::verified).verdict, Verdict::tune) << "8 % is more than the benchmark's tolerance";
}

TEST_F(DecidingTest, LetsACallChooseForItself) {
  auto engine = start(two_solvers(), options());
  engine->find(Doubling{}, {.find_mode = FindMode::fast});
  settled(*engine, Doubling{});
  EXPECT_EQ(engine->statistics().trials, 0u);
  const Solution refused = engine->find(Doubling{.elements = 99}, {.tolerance = -3.0});
  EXPECT_FALSE(refused);
  EXPECT_NE(refused.reason().find("tolerance"), std::string::npos) << refused.reason();
}

TEST_F(DecidingTest, AppliesAPolicyToLaterJobs) {
  auto engine = start(two_solvers(), options(Policy::frozen()));
  settled(*engine, Doubling{});
  EXPECT_EQ(engine->statistics().trials, 0u);
  engine->set_policy(eager());
  EXPECT_EQ(engine->policy().find_mode, FindMode::trust_verify);
  EXPECT_EQ(solver(settled(*engine, Doubling{.elements = 32})), "other");
  Policy impossible = eager();
  impossible.background_share = -1.0;
  EXPECT_THROW(engine->set_policy(impossible), Error);
}

TEST_F(DecidingTest, KeepsDevicesApart) {
  auto engine = start(two_solvers(), options());
  engine->add(std::make_shared<ScriptedDevice>(clock_, Conditions{}, "second"));
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "other");
  const Solution elsewhere = engine->find(Doubling{}, {.device = "second", .find_mode = FindMode::fast});
  EXPECT_EQ(elsewhere.provenance(), Provenance::hint) << "the first device's record is of another environment";
  const Solution nowhere = engine->find(Doubling{}, {.device = "third"});
  EXPECT_FALSE(nowhere);
  EXPECT_NE(nowhere.reason().find("no device of the name"), std::string::npos);
}

TEST_F(DecidingTest, WorksOnAProblemOnceHoweverManyAskAtTheSameTime) {
  const auto operation = two_solvers();
  auto engine = start(operation, options());
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 200; ++n) EXPECT_TRUE(engine->find(Doubling{}));
    });
  }
  for (std::thread& caller : callers) caller.join();
  settled(*engine, Doubling{});
  EXPECT_EQ(operation->references(), 1);
  EXPECT_EQ(engine->statistics().tuned, 1u);
}

// A search that is interrupted goes on where it stopped: what was evaluated is not evaluated again, and its best
// counts.
TEST_F(DecidingTest, ResumesAnInterruptedSearch) {
  const auto spacious = [](std::shared_ptr<Gate> gate, std::int64_t stops_at) {
    SearchSpace space;
    space.range("width", 1, 40);
    const auto configured = [gate, stops_at](const Configuration& configuration) {
      if (configuration.at("width") == stops_at) gate->pass();
      return 1.0 + 0.1 * static_cast<double>(std::abs(configuration.at("width") - 17));
    };
    return scripted_operation(
        {scripted_solver("fallback", {.time = 900us}),
         scripted_solver("spacious", {.time = 100us, .space = space, .defaults = {1}, .configured = configured})});
  };
  const auto operation = [&](std::shared_ptr<Gate> gate, std::int64_t stops_at) {
    return spacious(std::move(gate), stops_at);
  };
  const auto prepared = [](const std::shared_ptr<const ScriptedOperation>& of) {
    return dynamic_cast<const ScriptedSolver&>(*of->solvers()[1]).prepared();
  };
  Policy thorough = eager();
  thorough.patience = 1000;
  const auto gate = std::make_shared<Gate>();
  const auto first = operation(gate, 23);
  {
    auto engine = start(first, options(thorough));
    engine->find(Doubling{});
    gate->wait_for_arrival();
    std::thread opener([&] { gate->open(); });
    engine.reset();
    opener.join();
  }
  const auto open = std::make_shared<Gate>();
  open->open();
  const auto second = operation(open, 23);
  auto engine = start(second, options(thorough));
  EXPECT_EQ(settled(*engine, Doubling{}).candidate().configuration, "width=17");
  EXPECT_GT(prepared(first), 1);
  // Up to three of the first search's best are measured again, and so are the default and the one it was stopped at.
  EXPECT_LE(prepared(first) + prepared(second), 40 + 5);
}

// Production evidence schedules a verification, and only that replaces.
TEST_F(DecidingTest, VerifiesWhatDriftsInProduction) {
  const auto factor = std::make_shared<std::atomic<double>>(1.0);
  const auto drifting = scripted_operation(
      {scripted_solver("fallback", {.time = 200us}),
       scripted_solver("other",
                       {.time = 100us, .own_speed = [factor](std::chrono::nanoseconds) { return factor->load(); }})});
  auto engine = start(drifting, options());
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "other");
  EventLog log(*engine);
  report_window(*engine, 120us);
  report_window(*engine, 125us);
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(engine->statistics().verified, 0u) << "slower than measured, but steady";

  *factor = 3.0;
  report_window(*engine, 360us);
  const Event verified = log.wait(EventKind::verified);
  EXPECT_NEAR(verified.ratio, 3.0, 0.05);
  log.wait(EventKind::upgraded);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fallback");
}

TEST_F(DecidingTest, IgnoresReportsThatSayNothing) {
  auto engine = start(two_solvers(), options(Policy::frozen()));
  engine->report(Solution(), 100us);
  engine->report(engine->find(Doubling{.elements = 0}), 100us);
  report_window(*engine, -1ns);
  report_window(*engine, 0ns);
  report_window(*engine, 100us);
  report_window(*engine, 900us);
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(engine->statistics().trials, 0u) << "frozen measures nothing, whatever production says";
}

TEST_F(DecidingTest, TunesWhatATighterToleranceNoLongerAccepts) {
  const std::string system = recorded(two_solvers());
  auto with_system = options();
  with_system.system_databases = {system};
  const auto three =
      scripted_operation({scripted_solver("fallback", {.time = 400us}), scripted_solver("other", {.time = 110us}),
                          scripted_solver("new", {.time = 50us})});
  auto engine = start(three, with_system);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "other") << "10 % are within the tolerance";
  Policy tighter = eager();
  tighter.tolerance = 0.05;
  EventLog log(*engine);
  engine->set_policy(tighter);
  log.wait(EventKind::tuned);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "new");
}

// Several engines share a database: what one measures the others publish, and tell their own callers.
TEST_F(DecidingTest, PublishesWhatAnotherEngineMeasured) {
  auto reader = start(two_solvers(), options(Policy::frozen()));
  EventLog log(*reader);
  EXPECT_EQ(solver(reader->find(Doubling{})), "fallback");
  auto writer = start(two_solvers(), options());
  EXPECT_EQ(solver(settled(*writer, Doubling{})), "other");
  const Event upgraded = log.wait(EventKind::upgraded);
  EXPECT_EQ(upgraded.before.solver, "fallback");
  EXPECT_EQ(upgraded.after.solver, "other");
  EXPECT_EQ(upgraded.cause, "another process measured it");
  EXPECT_EQ(solver(reader->find(Doubling{})), "other");
  EXPECT_EQ(reader->find(Doubling{}).provenance(), Provenance::user);
  EXPECT_EQ(reader->statistics().trials, 0u);
}

// Two that want the same do it once: the other one's claim waits, and takes the result over.
TEST_F(DecidingTest, TunesAProblemOnceForAllEnginesOfADatabase) {
  const auto gate = std::make_shared<Gate>();
  const auto slow =
      scripted_operation({scripted_solver("fallback", {.time = 200us}),
                          scripted_solver("other", {.time = 100us, .fault = Fault::hangs_in_run, .gate = gate})});
  auto first = start(slow, options());
  first->find(Doubling{});
  gate->wait_for_arrival();
  const auto idle = two_solvers();
  auto second = start(idle, options());
  auto settled_second = second->async_settle(Doubling{}, asio::use_future);
  gate->open();
  EXPECT_EQ(solver(settled(*first, Doubling{})), "other");
  ASSERT_EQ(settled_second.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(solver(settled_second.get()), "other");
  EXPECT_EQ(second->statistics().trials, 0u);
  EXPECT_EQ(idle->references(), 0);
}

TEST_F(DecidingTest, ReadsAnUpgradeThroughABinding) {
  auto engine = start(two_solvers(), options());
  const Binding binding = engine->bind(Doubling{});
  EXPECT_TRUE(binding->candidate().solver == "fallback" || binding->candidate().solver == "other");
  const Solution after = settled(*engine, Doubling{});
  EXPECT_EQ(binding.get(), after);
}

}  // namespace
}  // namespace hone
