// A learned heuristic in the engine: offered when sure, measured when not, and never harmful.
#include <algorithm>
#include <hone/heuristic.hpp>
#include <map>
#include <random>

#include "tests/support/engine_fixture.hpp"

namespace hone::test {
namespace {

// Answers as it is told.
class ToldHeuristic final : public Heuristic {
 public:
  ToldHeuristic(Confidence confidence, std::vector<std::string> solvers, bool immediate = true)
      : confidence_(confidence), solvers_(std::move(solvers)), immediate_(immediate) {}

  bool immediate() const noexcept override { return immediate_; }
  Advice advise(const Problem&, const Environment&, const std::function<bool(const Pick&)>& usable) const override {
    ++asked;
    if (throws) throw std::runtime_error("told to");
    Advice advice{.confidence = confidence_};
    for (const std::string& solver : solvers_) {
      Pick pick;
      pick.solver = solver;
      pick.version = 1;
      if (usable(pick)) advice.picks.push_back(pick);
    }
    return advice;
  }

  mutable std::atomic<int> asked = 0;
  bool throws = false;

 private:
  const Confidence confidence_;
  const std::vector<std::string> solvers_;
  const bool immediate_;
};

class HeuristicTest : public EngineFixture {
 protected:
  // In the order of preference: slow (the fallback), middle, fast, broken.
  std::shared_ptr<const Operation> operation(std::shared_ptr<const Heuristic> heuristic) {
    solvers_ = {scripted_solver("slow", {.time = 200us}), scripted_solver("middle", {.time = 150us}),
                scripted_solver("fast", {.time = 100us}),
                scripted_solver("broken", {.time = 50us, .fault = Fault::wrong_result})};
    return with_heuristic(scripted_operation(solvers_), std::move(heuristic));
  }

  std::vector<std::shared_ptr<const ScriptedSolver>> solvers_;
};

TEST_F(HeuristicTest, SureIsOfferedAtOnceAndVerified) {
  const auto engine =
      start(operation(std::make_shared<ToldHeuristic>(Confidence::sure, std::vector<std::string>{"fast"})), options());
  engine->pause();
  const Solution first = engine->find(Doubling{});
  EXPECT_EQ(solver(first), "fast");
  EXPECT_EQ(first.provenance(), Provenance::model);
  EXPECT_FALSE(first.timing().known());  // what is predicted is no time
  engine->resume();
  const Solution honed = settled(*engine, Doubling{});
  EXPECT_EQ(solver(honed), "fast");
  EXPECT_EQ(honed.provenance(), Provenance::user);
  EXPECT_TRUE(honed.timing().known());
  EXPECT_EQ(engine->statistics().verified, 1u);
  EXPECT_EQ(engine->statistics().tuned, 0u);
  // It and the fallback; no search.
  EXPECT_EQ(engine->statistics().trials, 2u);
}

TEST_F(HeuristicTest, AWrongPickIsReplacedByTheFallback) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::sure, std::vector<std::string>{"middle"});
  solvers_ = {scripted_solver("quick", {.time = 50us}), scripted_solver("middle", {.time = 150us})};
  const auto engine = start(with_heuristic(scripted_operation(solvers_), heuristic), options());
  EXPECT_EQ(solver(engine->find(Doubling{})), "middle");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "quick");
}

TEST_F(HeuristicTest, APickThatFailsIsQuarantinedAndNotPickedAgain) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::sure, std::vector<std::string>{"broken", "fast"});
  const auto operation = this->operation(heuristic);
  {
    const auto engine = start(operation, options());
    EXPECT_EQ(solver(engine->find(Doubling{})), "broken");
    EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
    EXPECT_EQ(engine->statistics().quarantined, 1u);
  }
  const auto engine = start(operation, options());
  EXPECT_EQ(solver(engine->find(Doubling{})), "fast");
}

TEST_F(HeuristicTest, AShortlistIsMeasuredWithTheDefaultWhichAnswersMeanwhile) {
  const auto heuristic =
      std::make_shared<ToldHeuristic>(Confidence::shortlist, std::vector<std::string>{"middle", "fast"});
  const auto engine = start(operation(heuristic), options());
  engine->pause();
  const Solution first = engine->find(Doubling{});
  EXPECT_EQ(solver(first), "slow");
  EXPECT_EQ(first.provenance(), Provenance::fallback);
  engine->resume();
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
  EXPECT_EQ(engine->statistics().trials, 3u);
  EXPECT_EQ(engine->statistics().tuned, 0u);
}

TEST_F(HeuristicTest, AShortlistOfSlowerOnesLeavesTheDefault) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::shortlist, std::vector<std::string>{"middle"});
  solvers_ = {scripted_solver("quick", {.time = 50us}), scripted_solver("middle", {.time = 150us})};
  const auto engine = start(with_heuristic(scripted_operation(solvers_), heuristic), options());
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "quick");
  EXPECT_EQ(engine->statistics().upgrades, 0u);
}

// On a device too noisy to tell, the default stays, and the next start has nothing to measure.
TEST_F(HeuristicTest, AShortlistThatCannotBeDecidedIsRememberedAsATie) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::shortlist, std::vector<std::string>{"rival"});
  solvers_ = {scripted_solver("default", {.time = 100us}), scripted_solver("rival", {.time = 100us})};
  const auto operation = with_heuristic(scripted_operation(solvers_), heuristic);
  const auto noisy = [&] {
    EngineOptions with_clock = options();
    with_clock.clock = clock_;
    with_clock.log_level = LogLevel::off;
    auto engine = std::make_unique<Engine>(with_clock);
    engine->add(std::make_shared<ScriptedDevice>(clock_, Conditions{.jitter = 0.4}));
    engine->add(operation);
    return engine;
  };
  {
    const auto engine = noisy();
    EventLog log(*engine);
    engine->find(Doubling{});
    EXPECT_EQ(log.wait(EventKind::verified).verdict, Verdict::inconclusive);
  }
  const auto engine = noisy();
  EXPECT_EQ(engine->find(Doubling{}).provenance(), Provenance::user);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "default");
  EXPECT_EQ(engine->statistics().trials, 0u);
}

TEST_F(HeuristicTest, UnsureLeavesEverythingAsItWas) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::unsure, std::vector<std::string>{});
  const auto engine = start(operation(heuristic), options());
  EXPECT_EQ(engine->find(Doubling{}).provenance(), Provenance::fallback);
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
  EXPECT_EQ(engine->statistics().tuned, 1u);
}

TEST_F(HeuristicTest, OneThatFailsIsNoReasonToRefuse) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::sure, std::vector<std::string>{"fast"});
  heuristic->throws = true;
  const auto engine = start(operation(heuristic), options());
  EXPECT_EQ(solver(engine->find(Doubling{})), "slow");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
  EXPECT_GT(heuristic->asked, 0);
}

TEST_F(HeuristicTest, WhatIsUnknownHereIsNotPicked) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::sure, std::vector<std::string>{"gone"});
  const auto engine = start(operation(heuristic), options());
  EXPECT_EQ(solver(engine->find(Doubling{})), "slow");
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
}

TEST_F(HeuristicTest, OneThatTakesLongIsAskedInTheBackgroundOnly) {
  const auto heuristic =
      std::make_shared<ToldHeuristic>(Confidence::shortlist, std::vector<std::string>{"middle", "fast"}, false);
  const auto engine = start(operation(heuristic), options());
  engine->pause();
  EXPECT_EQ(solver(engine->find(Doubling{})), "slow");
  engine->resume();
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
  EXPECT_EQ(heuristic->asked, 1);
  EXPECT_EQ(engine->statistics().trials, 3u);
}

TEST_F(HeuristicTest, ARecordSpeaksFirst) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::sure, std::vector<std::string>{"middle"});
  const auto operation = this->operation(nullptr);
  {
    const auto engine = start(operation, options());
    EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
  }
  const auto engine = start(with_heuristic(operation, heuristic), options());
  const Solution solution = engine->find(Doubling{});
  EXPECT_EQ(solver(solution), "fast");
  EXPECT_EQ(solution.provenance(), Provenance::user);
  EXPECT_EQ(heuristic->asked, 0);
}

TEST_F(HeuristicTest, ModesThatVerifyNothingTuneFromAShortlist) {
  const auto heuristic = std::make_shared<ToldHeuristic>(Confidence::shortlist, std::vector<std::string>{"middle"});
  Policy policy = eager();
  policy.find_mode = FindMode::hybrid;
  const auto engine = start(operation(heuristic), options(policy));
  EXPECT_EQ(solver(settled(*engine, Doubling{})), "fast");
  EXPECT_EQ(engine->statistics().tuned, 1u);
}

// Under a distribution that the heuristic has never seen: whatever it says, what answers in the end is not slower than
// the default beyond the tie margin.
TEST_F(HeuristicTest, NeverHarms) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::shared_ptr<const ScriptedSolver>> solvers;
    std::map<std::string, double> times;
    for (const std::string& name : names) {
      times[name] = 50 + static_cast<double>(random() % 200);
      solvers.push_back(scripted_solver(name, {.time = std::chrono::duration<double, std::micro>(times[name])}));
    }
    std::vector<std::string> picks = names;
    std::shuffle(picks.begin(), picks.end(), random);
    picks.resize(1 + random() % 3);
    const auto confidence = random() % 2 == 0 ? Confidence::sure : Confidence::shortlist;
    const auto heuristic = std::make_shared<ToldHeuristic>(confidence, picks, random() % 2 == 0);
    EngineOptions options;
    options.policy = eager();
    const auto engine = start(with_heuristic(scripted_operation(solvers), heuristic), options);
    const Solution solution = settled(*engine, Doubling{});
    const double margin = 1 + eager().tie_margin;
    EXPECT_LE(times[solver(solution)], times["a"] * margin) << "round " << round;
  }
}

}  // namespace
}  // namespace hone::test
