// From problems to trials to a data set; and the heuristics that are shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <set>
#include <sstream>

#include "kernels/gemm/heuristics/host_gemm.hpp"
#include "kernels/learning/model_file.hpp"
#include "storage/maintenance.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tools/built_in_operation.hpp"
#include "tools/learn/csv.hpp"
#include "tools/learn/emit.hpp"
#include "tools/learn/export.hpp"
#include "tools/learn/generate.hpp"
#include "tools/learn/learn_command.hpp"
#include "workers/validation.hpp"

namespace hone::tools::learn {
namespace {

std::vector<std::string> texts(const std::vector<Problem>& problems) {
  std::vector<std::string> result;
  for (const Problem& problem : problems) result.push_back(problem.text());
  return result;
}

TEST(Generate, DrawsDifferentValidProblemsWithinTheLimit) {
  const GenerateOptions options{.count = 300, .seed = 5, .largest_work = 1e7};
  const auto problems = generate_problems("gemm", options, {});
  ASSERT_EQ(problems.size(), 300u);
  std::set<std::string> different;
  for (const Problem& problem : problems) {
    EXPECT_FALSE(gemm::operation()->validate(problem)) << problem.text();
    const auto p = problem.as<gemm::Problem>();
    EXPECT_LE(static_cast<double>(p.m * p.n * p.k * p.batch), 1e7) << problem.text();
    different.insert(problem.text());
  }
  EXPECT_EQ(different.size(), 300u);
  EXPECT_EQ(texts(generate_problems("gemm", options, {})), texts(problems));
  EXPECT_NE(texts(generate_problems("gemm", {.count = 300, .seed = 6, .largest_work = 1e7}, {})), texts(problems));
}

TEST(Generate, DrawsFromEveryBuiltInOperation) {
  for (const auto& operation : built_in_operations()) {
    const std::string name = operation->problem_type().operation();
    const auto problems = generate_problems(name, {.count = 100, .seed = 2}, {});
    EXPECT_EQ(problems.size(), 100u) << name;
    for (const Problem& problem : problems) EXPECT_EQ(problem.operation(), name) << problem.text();
    const auto again = generate_problems(name, {.count = 100, .seed = 2}, std::vector{problems[7]});
    EXPECT_THAT(texts(again), ::testing::Contains(problems[7].text()));
  }
  EXPECT_THROW(generate_problems("row_sum", {}, {}), Error);
}

TEST(Generate, TakesRealProblemsAndTheirNeighbours) {
  const Problem real(gemm::Problem{.m = 100, .n = 97, .k = 89});
  const auto problems = generate_problems("gemm", {.count = 100}, std::vector{real});
  std::size_t near = 0;
  bool itself = false;
  for (const Problem& problem : problems) {
    const auto p = problem.as<gemm::Problem>();
    near += p.n == 97 && p.k == 89 ? 1U : 0U;
    itself = itself || problem == real;
    if (p.n == 97) {
      EXPECT_GE(p.m, 74);
      EXPECT_LE(p.m, 126);
    }
  }
  EXPECT_GT(near, 10u);
  EXPECT_TRUE(itself);
}

TEST(Generate, EndsWhereThereIsNothingMoreToDraw) {
  EXPECT_LT(generate_problems("gemm", {.count = 10000, .largest_work = 300}, {}).size(), 10000u);
}

storage::Trial trial_of(const Problem& problem, const Candidate& candidate, std::uint64_t environment, double time) {
  storage::Trial trial;
  trial.key = problem.key();
  trial.problem = problem.text();
  trial.environment = environment;
  trial.candidate.candidate = candidate;
  trial.candidate.timing = {std::chrono::duration<double, std::nano>(time), {}, {}, 5};
  return trial;
}

TEST(Export, WritesTheTrialsOfOneEnvironment) {
  const test::TemporaryDirectory directory;
  const std::string database = directory.path("database");
  const auto operation = gemm::operation();
  const auto device = host_device();
  const Problem problem(gemm::Problem{.m = 16, .n = 32, .k = 64});
  const auto fallback = workers::find_solver(*operation, operation->fallback());
  const Candidate own = workers::default_candidate(*operation->solvers().front(), problem, *device);
  const Candidate direct = workers::default_candidate(*fallback, problem, *device);
  Environment here;
  here.vendor = "a";
  Environment elsewhere;
  elsewhere.vendor = "b";
  {
    storage::BulkWriter writer(database);
    writer.add(storage::PutEnvironment{here});
    writer.add(storage::PutEnvironment{elsewhere});
    writer.add(storage::PutTrial{trial_of(problem, own, here.id(), 100)});
    storage::Trial with_facts = trial_of(problem, direct, here.id(), 200);
    with_facts.facts = {{"spilled_registers", 5}};
    writer.add(storage::PutTrial{with_facts});
    writer.add(storage::PutTrial{trial_of(problem, direct, elsewhere.id(), 300)});
    writer.finish();
  }
  const CollectedTrials collected = collect_trials(database, *operation, *device, {});
  EXPECT_EQ(collected.environment, here);
  ASSERT_EQ(collected.trials.size(), 2u);
  for (const ExportedTrial& trial : collected.trials) EXPECT_TRUE(trial.is_default);
  EXPECT_EQ(collected.foreign, 1u);
  EXPECT_EQ(texts(problems_in(database, operation->problem_type())), texts({problem}));
  EXPECT_THROW(collect_trials(database, *operation, *device, "00"), Error);
  EXPECT_THROW(collect_trials(directory.path("none"), *operation, *device, {}), Error);

  // The command's file is read as it was meant.
  const std::string file = directory.path("trials.csv");
  int status = -1;
  CLI::App app;
  add_learn_command(app, status);
  app.parse("learn export --database " + database + " --out " + file);
  EXPECT_EQ(status, 0);
  const DataSet data = read_data_set({file}, {.operation = "gemm"});
  ASSERT_EQ(data.problems.size(), 1u);
  EXPECT_EQ(data.problems[0].best, 100);
  EXPECT_EQ(data.candidates[data.default_candidate].name, operation->solvers().front()->id());
  EXPECT_EQ(data.environment_class, "a/");
  EXPECT_NE(read_file(file).find(",reason,fact_spilled_registers\n"), std::string::npos);
}

TEST(ShippedHeuristic, IsGeneratedFromItsModel) {
  const std::string folder = HONE_SOURCE_DIR "/kernels/gemm/heuristics/";
  const learning::Model model = learning::read_model(folder + "host_gemm.model");
  const EmittedCode code = emit(model, "hone::gemm::heuristics", "host_gemm", "kernels/gemm/heuristics/host_gemm.hpp");
  EXPECT_EQ(code.source, read_file(folder + "host_gemm.cpp"));
  EXPECT_EQ(code.header, read_file(folder + "host_gemm.hpp"));
}

TEST(ShippedHeuristic, AdvisesInItsEnvironmentClassOnly) {
  const auto operation = gemm::operation();
  const auto heuristic = operation->heuristic();
  ASSERT_NE(heuristic, nullptr);
  EXPECT_TRUE(heuristic->immediate());
  Environment environment;
  const learning::Model& model = gemm::heuristics::host_gemm::model();
  const auto slash = model.environment_class.find('/');
  environment.vendor = model.environment_class.substr(0, slash);
  environment.architecture = model.environment_class.substr(slash + 1);
  const auto usable = [&](const Pick& pick) { return workers::find_solver(*operation, pick.solver) != nullptr; };
  std::size_t answers = 0;
  const auto problems = generate_problems("gemm", {.count = 400, .seed = 77}, {});
  for (const Problem& problem : problems) {
    const Advice advice = heuristic->advise(problem, environment, usable);
    answers += advice.confidence == Confidence::unsure ? 0U : 1U;
    for (const Pick& pick : advice.picks) {
      const auto solver = workers::find_solver(*operation, pick.solver);
      ASSERT_NE(solver, nullptr);
      EXPECT_EQ(pick.version, solver->version());  // of another version: train again
    }
    EXPECT_EQ(heuristic->advise(problem, Environment(), usable).confidence, Confidence::unsure);
  }
  if (operation->solvers().size() >= model.candidates.size()) {
    EXPECT_GT(answers, problems.size() * 9 / 10);
  }
  // Far larger than anything it has seen.
  EXPECT_EQ(heuristic->advise(Problem(gemm::Problem{.m = 100000, .n = 64, .k = 64}), environment, usable).confidence,
            Confidence::unsure);
}

}  // namespace
}  // namespace hone::tools::learn
