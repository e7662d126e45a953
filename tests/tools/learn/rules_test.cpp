// Rules of learning, on a small sample and on public data where it is present.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <hone/error.hpp>
#include <numeric>
#include <random>

#include "kernels/learning/model_file.hpp"
#include "tools/learn/accuracy_rule.hpp"
#include "tools/learn/evaluation.hpp"
#include "tools/learn/ranking_rule.hpp"
#include "tools/learn/regret_rule.hpp"
#include "tools/learn/report.hpp"
#include "tools/learn/training.hpp"

namespace hone::tools::learn {
namespace {

const std::string sample_file = HONE_SOURCE_DIR "/tests/tools/learn/sample.csv";
const std::string public_data = HONE_SOURCE_DIR "/../shared/data/gemm/";

DataSet read(const std::vector<std::string>& files, const std::string& operation) {
  return read_data_set(files, {.operation = operation});
}

DataSet sample(std::uint64_t seed = 1) {
  DataSet data = read({sample_file}, "sample");
  split_by_seed(data, recipe_for("sample", data), seed);
  return data;
}

bool present(const std::string& file) { return std::filesystem::exists(public_data + file); }

TEST(RegressionTree, FindsTheSplitThatLowersTheErrorMost) {
  Matrix features(6, 2);
  Matrix targets(6, 1);
  for (std::size_t i = 0; i < 6; ++i) {
    features.row(i)[0] = static_cast<double>(i % 2);  // says nothing
    features.row(i)[1] = static_cast<double>(10 * i);
    targets.row(i)[0] = i < 4 ? 1 : 3;
  }
  const GrownTree grown = grow(features, targets, {});
  ASSERT_EQ(grown.nodes.size(), 3u);
  EXPECT_EQ(grown.nodes[0].feature, 1);
  EXPECT_EQ(grown.nodes[0].threshold, 35);
  EXPECT_EQ(grown.nodes[1].means[0], 1);
  EXPECT_EQ(grown.nodes[2].means[0], 3);
  // A leaf of at least three rows: the error falls less, and the leaf is mixed.
  const GrownTree coarse = grow(features, targets, {.min_samples_leaf = 3});
  ASSERT_EQ(coarse.nodes.size(), 3u);
  EXPECT_EQ(coarse.nodes[0].threshold, 25);
  EXPECT_DOUBLE_EQ(coarse.nodes[2].means[0], 7.0 / 3);
}

TEST(RegressionTree, CutAtADepthIsTheTreeGrownToIt) {
  std::mt19937_64 random(3);
  Matrix features(400, 3);
  Matrix targets(400, 2);
  for (double& each : features.values) each = static_cast<double>(random() % 50);
  for (std::size_t i = 0; i < 400; ++i) {
    targets.row(i)[0] = features.row(i)[0] * features.row(i)[1];
    targets.row(i)[1] = features.row(i)[2];
  }
  const GrownTree whole = grow(features, targets, {.min_samples_leaf = 5});
  for (const std::uint32_t depth : {0U, 1U, 3U, 6U}) {
    const CutTree expected = cut(grow(features, targets, {.max_depth = depth, .min_samples_leaf = 5}), depth);
    const CutTree tree = cut(whole, depth);
    EXPECT_EQ(tree.tree, expected.tree);
    EXPECT_EQ(tree.means, expected.means);
  }
}

TEST(AccuracyRule, ReproducesThePublishedTable) {
  if (!present("pad_mm_a100.csv")) GTEST_SKIP() << "needs ../shared/data/gemm/pad_mm_a100.csv";
  const DataSet data = read({public_data + "pad_mm_a100.csv"}, "pad_mm");
  const AccuracyResult result = learn_by_accuracy(data, recipe_for("pad_mm", data));
  EXPECT_EQ(result.max_depth, 5u);
  EXPECT_EQ(result.min_samples_leaf, 10u);
  EXPECT_EQ(result.model.scores.size(), 26u);
  EXPECT_NEAR(result.model.threshold, 1.702530, 5e-7);
  EXPECT_EQ(
      accuracy_table(result),
      "max_depth min_samples_leaf dataset correct wrong unsure total max_wrong_speedup gman_wrong_speedup threshold\n"
      "5.0 10 train 2730 4 3023 5757 1.372220 1.193873 1.702530\n"
      "5.0 10 val 878 0 1042 1920 NaN NaN 1.702530\n"
      "5.0 10 test 925 2 993 1920 1.741708 1.354954 1.702530\n");
  // The model answers as the table says, after its file too: the threshold is not rounded.
  const learning::Model read_back = learning::from_text(learning::to_text(result.model));
  const Evaluation test = evaluate(read_back, data, problems_of(data, Split::test), {});
  EXPECT_NEAR(test.coverage, 927.0 / 1920, 1e-9);
  EXPECT_NEAR(test.sure.worst, 1.741708, 1e-6);
}

TEST(AccuracyRule, ChoosesBetweenTwoCandidatesOnly) {
  const DataSet data = sample();
  EXPECT_THROW(learn_by_accuracy(data, recipe_for("sample", data)), Error);
}

TEST(RegretRule, IsSureOftenAndLosesLittle) {
  const DataSet data = sample();
  const learning::Model model = learn_by_regret(data, recipe_for("sample", data));
  EXPECT_NO_THROW(learning::check(model));
  const Evaluation test = evaluate(model, data, problems_of(data, Split::test), {1, 2});
  EXPECT_GT(test.coverage, 0.5);
  EXPECT_LT(test.sure.mean, 1.01);
  EXPECT_LT(test.guarded.at(1).mean, test.by_default.mean);
  EXPECT_LE(test.guarded.at(2).mean, test.guarded.at(1).mean);
}

TEST(RegretRule, OnPublicDataOverTwentySplits) {
  if (!present("pad_mm_a100.csv")) GTEST_SKIP() << "needs ../shared/data/gemm/pad_mm_a100.csv";
  DataSet data = read({public_data + "pad_mm_a100.csv"}, "pad_mm");
  const Recipe recipe = recipe_for("pad_mm", data);
  std::vector<double> coverage;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    split_by_seed(data, recipe, seed);
    const learning::Model model = learn_by_regret(data, recipe);
    const Evaluation test = evaluate(model, data, problems_of(data, Split::test), {});
    coverage.push_back(test.coverage);
    EXPECT_LE(test.sure.mean, 1.002) << "split " << seed;
    EXPECT_LE(test.sure.over_5, 0.005) << "split " << seed;
  }
  std::nth_element(coverage.begin(), coverage.begin() + 10, coverage.end());
  EXPECT_GE(coverage[10], 0.85);
}

TEST(RankingRule, OrdersCandidatesAndIsReproducible) {
  const DataSet data = sample();
  const Recipe recipe = recipe_for("sample", data);
  const RankingOptions options{.boosting = {.trees = 40}};
  const learning::Model model = learn_ranking(data, recipe, options);
  EXPECT_NO_THROW(learning::check(model));
  EXPECT_EQ(learning::to_text(learn_ranking(data, recipe, options)), learning::to_text(model));
  const Evaluation test = evaluate(model, data, problems_of(data, Split::test), {1, 2, 3});
  EXPECT_LT(test.top.at(1).mean, 1.03);
  EXPECT_DOUBLE_EQ(test.top.at(3).mean, 1);
  const learning::Model all = retrain_on_all(model, data, options);
  EXPECT_NE(all.ensemble, model.ensemble);
  EXPECT_EQ(all.chances, model.chances);
}

TEST(RankingRule, ChancesFall) {
  std::vector<Attempt> attempts;
  std::mt19937_64 random(5);
  for (int i = 0; i < 4000; ++i) {
    const double gap = static_cast<double>(random() % 1000) / 1000;
    attempts.push_back({gap, static_cast<double>(random() % 1000) / 1000 < 0.5 * (1 - gap)});
  }
  const auto steps = falling_chances(attempts);
  ASSERT_GT(steps.size(), 3u);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_GT(steps[i].gap, steps[i - 1].gap);
    EXPECT_LT(steps[i].chance, steps[i - 1].chance);
  }
  EXPECT_NEAR(steps.front().chance, 0.5, 0.1);
  EXPECT_LT(steps.back().chance, 0.1);
  EXPECT_TRUE(falling_chances({}).empty());
}

TEST(Boosting, TablesSayWhatTheTreesSay) {
  // One tree of depth 1 in XGBoost's JSON: left where x < 2.5.
  const learning::Ensemble ensemble = from_xgboost(R"({"learner": {"learner_model_param": {"base_score": "1E0"},
    "gradient_booster": {"model": {"trees": [{"left_children": [1, -1, -1], "right_children": [2, -1, -1],
    "split_indices": [0, 0, 0], "split_conditions": [2.5, -1.0, 4.0]}]}}}})");
  const float rows[] = {2.4999998F, 2.5F};
  float scores[2];
  learning::evaluate(ensemble.tables(), rows, 1, 2, scores);
  EXPECT_EQ(scores[0], 0);
  EXPECT_EQ(scores[1], 5);
  EXPECT_THROW(from_xgboost("{}"), Error);
  EXPECT_THROW(from_xgboost("{"), Error);
}

TEST(RankingRule, OnPublicMatrixProductsOnShapesAndADeviceNeverSeen) {
  if (!present("mm_a100_random.csv") || !present("mm_a100_hf.csv") || !present("mm_h100_random.csv")) {
    GTEST_SKIP() << "needs mm_*.csv in ../shared/data/gemm";
  }
  DataSet data = read({public_data + "mm_a100_random.csv", public_data + "mm_a100_hf.csv"}, "mm");
  const Recipe recipe = recipe_for("mm", data);
  split_by_seed(data, recipe, 1);
  const learning::Model model = learn_ranking(data, recipe);
  const Evaluation shapes = evaluate(model, data, problems_of(data, Split::test), {1, 3, 5});
  EXPECT_LE(shapes.guarded.at(3).mean, 1.010);
  EXPECT_LE(shapes.guarded.at(5).mean, 1.005);
  EXPECT_LE(shapes.guarded.at(1).mean, 1.03);
  const DataSet other = read_data_set({public_data + "mm_h100_random.csv"}, {.operation = "mm", .model = &model});
  std::vector<std::size_t> problems(other.problems.size());
  std::iota(problems.begin(), problems.end(), std::size_t{0});
  const Evaluation device = evaluate(model, other, problems, {1, 3, 5});
  EXPECT_LE(device.guarded.at(3).mean, 1.012);
  EXPECT_LE(device.guarded.at(5).mean, 1.006);
  EXPECT_LE(device.guarded.at(1).mean, 1.045);
  // Guarded: never slower than the default.
  for (const std::size_t k : {1, 3, 5}) EXPECT_LE(device.guarded.at(k).worst, device.by_default.worst);
}

TEST(RankingRule, OnPublicMixedProducts) {
  if (!present("mixedmm_a100.csv")) GTEST_SKIP() << "needs ../shared/data/gemm/mixedmm_a100.csv";
  DataSet data = read({public_data + "mixedmm_a100.csv"}, "mixedmm");
  const Recipe recipe = recipe_for("mixedmm", data);
  split_by_seed(data, recipe, 1);
  const Evaluation test = evaluate(learn_ranking(data, recipe), data, problems_of(data, Split::test), {3, 5});
  EXPECT_LE(test.guarded.at(3).mean, 1.018);
  EXPECT_LE(test.guarded.at(5).mean, 1.006);
}

TEST(Training, NamesAFeatureThatIsNoNumber) {
  DataSet data = sample();
  data.problems[0].values[0] = 0;
  const std::size_t first = 0;
  try {
    problem_rows(data, {{"odd", "log2(0 - n) * m"}}, std::span(&first, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the feature odd = log2(0 - n) * m is not a number"), std::string::npos);
  }
}

TEST(Evaluation, JudgesAgainstDefaultCommonestAndNearest) {
  const DataSet data = sample();
  const learning::Model model = learn_by_regret(data, recipe_for("sample", data));
  const auto test = problems_of(data, Split::test);
  const Evaluation evaluation = evaluate(model, data, test, {1}, &data, problems_of(data, Split::train));
  EXPECT_TRUE(evaluation.has_nearest);
  EXPECT_LT(evaluation.by_nearest.mean, evaluation.by_default.mean);
  const std::string text = text_report(model, evaluation, "sample");
  for (const char* part : {"the default", "nearest neighbour", "commonest", "over 5 %"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  const std::string page = html_report(model, evaluation, text);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // self-contained
}

TEST(Evaluation, RegretsAreGeometric) {
  const Regret regret = regret_of({0, std::log(4.0)});
  EXPECT_DOUBLE_EQ(regret.mean, 2);
  EXPECT_DOUBLE_EQ(regret.worst, 4);
  EXPECT_DOUBLE_EQ(regret.over_5, 0.5);
  EXPECT_EQ(regret_of({}).mean, 1);
}

}  // namespace
}  // namespace hone::tools::learn
