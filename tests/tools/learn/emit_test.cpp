// Generated code against the library's own prediction. The code is generated from the sample when the tests are built.
#include "tools/learn/emit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <hone/error.hpp>
#include <random>
#include <sstream>

#include "ensemble.hpp"
#include "kernels/learning/model_file.hpp"
#include "pairs.hpp"
#include "tree.hpp"

namespace hone::tools::learn {
namespace {

constexpr int inputs = 100000;

std::string generated_file(const std::string& name) {
  std::ifstream stream(std::string(HONE_GENERATED_DIR) + "/" + name);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

learning::Model loaded(const std::string& directory, const std::string& operation) {
  return learning::read_model(std::string(HONE_GENERATED_DIR) + "/" + directory + "/" + operation + ".model");
}

// Values inside and outside of what the model knows, often at a threshold's edge.
std::vector<double> random_problem(const learning::Model& model, std::mt19937_64& random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < model.problem.size(); ++i) {
    if (model.problem[i].categorical()) {
      values.push_back(static_cast<double>(random() % (model.problem[i].categories.size() + 1)) - 1);
      continue;
    }
    std::uniform_real_distribution<double> place(-0.05, 1.05);
    const double low = model.bounds[i].low;
    const double high = model.bounds[i].high;
    const double value =
        random() % 2 == 0 ? low + place(random) * (high - low) : low * std::pow(high / low, place(random));
    values.push_back(random() % 4 == 0 ? value : std::floor(value));
  }
  return values;
}

void expect_same_choices(const learning::Model& generated, const learning::Model& model,
                         const std::function<int(const double*)>& sure_candidate = {}) {
  const learning::Predictor from_code(generated);
  const learning::Predictor from_file(model);
  const auto offers = from_file.offers();
  std::mt19937_64 random(11);
  int sure = 0;
  for (int i = 0; i < inputs; ++i) {
    const auto problem = random_problem(model, random);
    const learning::Choice expected = from_file.choose(problem, offers);
    const learning::Choice actual = from_code.choose(problem, offers);
    ASSERT_EQ(actual.confidence, expected.confidence) << i;
    ASSERT_EQ(actual.order, expected.order) << i;
    ASSERT_EQ(actual.shortlist, expected.shortlist) << i;
    if (!sure_candidate) continue;
    const bool is_sure = expected.confidence == Confidence::sure;
    sure += is_sure ? 1 : 0;
    ASSERT_EQ(sure_candidate(problem.data()), is_sure ? static_cast<int>(expected.order[0]) : -1) << i;
  }
  if (sure_candidate) {
    EXPECT_GT(sure, inputs / 20);
    EXPECT_LT(sure, inputs);
  }
}

TEST(EmittedTree, AnswersAsTheModel) {
  const auto model = loaded("tree", "sample");
  ASSERT_EQ(model.kind, learning::ModelKind::tree);
  expect_same_choices(generated::tree::model(), model, generated::tree::sure_candidate);
}

TEST(EmittedScoredTree, AnswersAsTheModel) {
  const auto model = loaded("pairs", "pairs");
  ASSERT_EQ(model.kind, learning::ModelKind::scored_tree);
  expect_same_choices(generated::pairs::model(), model, generated::pairs::sure_candidate);
}

TEST(EmittedEnsemble, AnswersAsTheModel) {
  const auto model = loaded("ensemble", "sample");
  ASSERT_EQ(model.kind, learning::ModelKind::ensemble);
  expect_same_choices(generated::ensemble::model(), model);
}

TEST(Emit, GivesTheSameBytesAgain) {
  for (const auto& [name, operation] : {std::pair("tree", "sample"), {"pairs", "pairs"}, {"ensemble", "sample"}}) {
    const EmittedCode code = emit(loaded(name, operation), "generated", name, std::string(name) + ".hpp");
    EXPECT_EQ(code.source, generated_file(std::string(name) + ".cpp"));
    EXPECT_EQ(code.header, generated_file(std::string(name) + ".hpp"));
  }
}

TEST(Emit, SaysWhatTheModelIsFrom) {
  const auto model = loaded("tree", "sample");
  const std::string source = emit(model, "a::b", "c", "c.hpp").source;
  EXPECT_NE(source.find(model.data_hash), std::string::npos);
  EXPECT_NE(source.find("environment class test/sample"), std::string::npos);
  EXPECT_NE(source.find("validation problems it was sure of"), std::string::npos);
  EXPECT_NE(source.find("namespace a::b::c {"), std::string::npos);
  EXPECT_THROW(emit(model, "a b", "c", "c.hpp"), Error);
  EXPECT_THROW(emit(model, "a", "1c", "c.hpp"), Error);
}

}  // namespace
}  // namespace hone::tools::learn
