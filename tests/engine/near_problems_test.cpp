#include "engine/near_problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tests/support/engine_fixture.hpp"

namespace hone::engine {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

Problem problem(std::int64_t elements, std::int64_t stride = 1, bool accumulate = false) {
  return Problem(Doubling{.elements = elements, .stride = stride, .accumulate = accumulate});
}

TEST(Distance, AddsTheDoublingsOfEverySize) {
  EXPECT_EQ(distance(problem(16), problem(16)), 0);
  EXPECT_EQ(distance(problem(16), problem(64)), 2);
  EXPECT_EQ(distance(problem(16, 4), problem(64, 1)), 4);
  EXPECT_EQ(distance(problem(16), problem(16, 1, true)), std::numeric_limits<double>::infinity());
  // workspace_limit of -1 (none) against one of 64.
  EXPECT_EQ(distance(problem(16), Problem(Doubling{.workspace_limit = 64})), 1);
}

RC_GTEST_PROP(Distance, IsSymmetricAndObeysTheTriangle, ()) {
  const auto any = [] { return problem(*rc::gen::inRange(1, 5000), *rc::gen::inRange(1, 9)); };
  const Problem a = any(), b = any(), c = any();
  RC_ASSERT(std::abs(distance(a, b) - distance(b, a)) < 1e-9);
  RC_ASSERT(distance(a, c) <= distance(a, b) + distance(b, c) + 1e-9);
}

class NearCandidates : public EngineFixture {
 protected:
  NearCandidates() {
    SearchSpace space;
    space.range("tile", 1, 64);
    operation_ = scripted_operation({scripted_solver("fallback"), scripted_solver("tiled", {.space = space})});
    site_ = {operation_, std::make_shared<ScriptedDevice>(clock_), {}, 0};
    site_.environment = environment_of(*site_.device, *operation_);
    site_.environment_id = site_.environment.id();
  }
  storage::PutRecord record(const Problem& p, std::int64_t tile, std::uint64_t environment) const {
    storage::Record made;
    made.key = p.key();
    made.problem = p.text();
    made.environment = environment;
    made.best.candidate = {"tiled", 1, "tile=" + std::to_string(tile)};
    return {made};
  }
  std::vector<std::string> near(storage::Library& library, const Problem& p, std::size_t count = 3) const {
    std::vector<std::string> texts;
    for (const Candidate& c : near_candidates(site_, p, near_records(site_, p, library), count))
      texts.push_back(c.configuration);
    return texts;
  }

  std::shared_ptr<const Operation> operation_;
  Site site_;
};

TEST_F(NearCandidates, AreThoseOfTheNearestProblemsInOrder) {
  storage::Library library({.user_database = directory_.path("user")});
  const std::uint64_t here = site_.environment_id;
  library.submit({storage::PutEnvironment{site_.environment}, record(problem(100), 1, here),
                  record(problem(1000), 2, here), record(problem(128), 3, here), record(problem(64), 3, here),
                  record(problem(100, 1, true), 4, here), record(problem(100'000), 5, here),
                  record(problem(200), 65, here), record(problem(400), 7, here)});
  ASSERT_TRUE(library.flush(60s));
  // tile=65 lies outside the space, 4 is of another kernel, 5 too far away, 3 named twice.
  EXPECT_THAT(near(library, problem(100)), ElementsAre("tile=3", "tile=7", "tile=2"));
  EXPECT_THAT(near(library, problem(101)), ElementsAre("tile=1", "tile=3", "tile=7"));
  EXPECT_THAT(near(library, problem(101), 1), ElementsAre("tile=1"));
  EXPECT_THAT(near(library, problem(1, 8)), IsEmpty());
}

TEST_F(NearCandidates, CountTheSameProblemInANearEnvironment) {
  Environment newer = site_.environment;
  newer.facts["library"] = "2.0";
  Environment foreign;
  foreign.vendor = "another";
  storage::Library library({.user_database = ""});
  library.submit({storage::PutEnvironment{newer}, storage::PutEnvironment{foreign},
                  record(problem(100), 1, site_.environment_id), record(problem(100), 2, newer.id()),
                  record(problem(100), 3, foreign.id()), record(problem(110), 4, site_.environment_id)});
  ASSERT_TRUE(library.flush(60s));
  EXPECT_THAT(near(library, problem(100)), ElementsAre("tile=4", "tile=2", "tile=3"));
}

TEST_F(NearCandidates, LookAtNoMoreThanAPartOfALargeDatabase) {
  storage::Library library({.user_database = ""});
  std::vector<storage::Change> changes{storage::PutEnvironment{site_.environment}};
  for (std::int64_t i = 1; i <= 5000; ++i) changes.emplace_back(record(problem(i), 1 + i % 64, site_.environment_id));
  library.submit(std::move(changes));
  ASSERT_TRUE(library.flush(60s));
  EXPECT_EQ(library.sample(problem(7).key(), "doubling", site_.environment, 4096).size(), 4096u);
  EXPECT_EQ(library.sample(problem(7).key(), "doubling", site_.environment, 9000).size(), 5000u);
  EXPECT_EQ(library.sample(problem(7).key(), "doubl", site_.environment, 9000).size(), 0u);
  EXPECT_EQ(near(library, problem(7)).size(), 3u);
}

class NearTrials : public NearCandidates {
 protected:
  // A record and `count` trials of the problem in the environment, the first of tile `tile`.
  void add(storage::Library& library, const Problem& p, const Environment& environment, int count, std::int64_t tile,
           bool cold_cache = false) const {
    std::vector<storage::Change> changes{storage::PutEnvironment{environment}, record(p, 1, environment.id())};
    for (int i = 0; i < count; ++i) {
      storage::Trial trial;
      trial.key = p.key();
      trial.problem = p.text();
      trial.environment = environment.id();
      trial.candidate.candidate = {"tiled", 1, "tile=" + std::to_string(tile + i)};
      trial.cold_cache = cold_cache;
      changes.emplace_back(storage::PutTrial{trial});
    }
    library.submit(std::move(changes));
    ASSERT_TRUE(library.flush(60s));
  }
  // The first one's configuration; "" for none.
  std::string nearest(storage::Library& library, const Problem& p, bool cold_cache = false) const {
    const auto trials = near_trials(near_records(site_, p, library), library, cold_cache);
    return trials.empty() ? "" : trials.front().candidate.candidate.configuration;
  }
};

TEST_F(NearTrials, AreThoseOfTheNearestThatHasEnough) {
  storage::Library library({.user_database = directory_.path("user")});
  EXPECT_EQ(nearest(library, problem(100)), "");
  add(library, problem(100), site_.environment, 30, 1);
  EXPECT_EQ(nearest(library, problem(100)), "");  // its own are no others'
  add(library, problem(110), site_.environment, 15, 2);
  EXPECT_EQ(nearest(library, problem(100)), "");
  add(library, problem(300), site_.environment, 16, 3);
  EXPECT_EQ(nearest(library, problem(100)), "tile=3");
  Environment newer = site_.environment;
  newer.facts["library"] = "2.0";
  add(library, problem(100), newer, 20, 4);
  EXPECT_EQ(nearest(library, problem(100)), "tile=4");
  add(library, problem(120), site_.environment, 20, 5, true);
  EXPECT_EQ(nearest(library, problem(100)), "tile=4");
  EXPECT_EQ(nearest(library, problem(100), true), "tile=5");
  // More than three doublings away.
  EXPECT_EQ(nearest(library, problem(3000)), "");
}

// The whole way: what one problem's tuning found is the start of the next one's.
TEST_F(NearCandidates, GoFirstWhenAProblemIsTuned) {
  SearchSpace space;
  space.range("tile", 1, 64);
  const auto operation = scripted_operation(
      {scripted_solver("fallback", {.time = 300us}),
       scripted_solver("tiled", {.time = 200us, .space = space, .defaults = {1}, .configured = [](const auto& c) {
                                   return 1.0 - static_cast<double>(c.at("tile")) / 128;
                                 }})});
  auto engine = start(operation, options());
  EXPECT_EQ(settled(*engine, Doubling{.elements = 16}).candidate().configuration, "tile=64");
  // Three evaluations: the incumbent, the near problem's best, one more.
  const CallOptions few{.max_evaluations = 3};
  engine->find(Doubling{.elements = 20}, few);
  EXPECT_EQ(settled(*engine, Doubling{.elements = 20}).candidate().configuration, "tile=64");
}

}  // namespace
}  // namespace hone::engine
