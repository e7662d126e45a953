#include "kernels/learning/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <hone/error.hpp>
#include <random>

#include "kernels/learning/model_file.hpp"
#include "tests/support/small_model.hpp"
#include "tests/support/temporary_directory.hpp"

namespace hone::learning {
namespace {

using test::small_model;

Choice choose(const Model& model, std::vector<double> problem) {
  const Predictor predictor(model);
  return predictor.choose(problem, predictor.offers());
}

std::string complaint(const std::string& text) {
  try {
    from_text(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_model);
    return error.what();
  }
  return "";
}

// A text with a hash that fits.
std::string sealed(const std::string& body) { return "hone-model 1 " + hash_of(body) + "\n" + body; }

std::string body_of(const Model& model) {
  const std::string text = to_text(model);
  return text.substr(text.find('\n') + 1);
}

TEST(LearnedModel, IsSureWhereTheLeafIs) {
  const Choice sure = choose(small_model(), {50, 0});
  EXPECT_EQ(sure.confidence, Confidence::sure);
  EXPECT_EQ(sure.shortlist, 1u);
  EXPECT_EQ(sure.order.front(), 1u);
  const Choice shortlist = choose(small_model(), {500, 0});
  EXPECT_EQ(shortlist.confidence, Confidence::shortlist);
  EXPECT_EQ(shortlist.shortlist, 2u);
  EXPECT_EQ(shortlist.order.front(), 2u);
}

TEST(LearnedModel, IsUnsureOutsideOfWhatItKnows) {
  EXPECT_EQ(choose(small_model(), {1001, 0}).confidence, Confidence::unsure);
  EXPECT_EQ(choose(small_model(), {0, 0}).confidence, Confidence::unsure);
  EXPECT_EQ(choose(small_model(), {NAN, 0}).confidence, Confidence::unsure);
  EXPECT_EQ(choose(small_model(), {50, 2}).confidence, Confidence::unsure);
  Model model = small_model();
  model.preconditions = {"elements % 2 == 0"};
  EXPECT_EQ(choose(model, {50, 0}).confidence, Confidence::sure);
  EXPECT_EQ(choose(model, {51, 0}).confidence, Confidence::unsure);
  model.problem[1].categories = {"no", "yes"};
  EXPECT_EQ(choose(model, {50, 1}).confidence, Confidence::sure);
  EXPECT_EQ(choose(model, {50, category_value(model.problem[1], "perhaps")}).confidence, Confidence::unsure);
}

TEST(LearnedModel, IsNotSureOfWhatIsNotOnOffer) {
  const Model model = small_model();
  const Predictor predictor(model);
  auto offers = predictor.offers();
  offers.erase(offers.begin() + 1);
  EXPECT_NE(predictor.choose(std::vector<double>{50, 0}, offers).confidence, Confidence::sure);
  offers.resize(1);
  EXPECT_EQ(predictor.choose(std::vector<double>{500, 0}, offers).confidence, Confidence::unsure);
}

TEST(LearnedModel, SurvivesItsFile) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path("small.model");
  write_model(small_model(), file);
  const Model read = read_model(file);
  EXPECT_EQ(to_text(read), to_text(small_model()));
  EXPECT_EQ(read.leaves, small_model().leaves);
  EXPECT_EQ(read.tree, small_model().tree);
}

TEST(LearnedModel, IsCheckedBeforeUse) {
  const std::string text = to_text(small_model());
  EXPECT_EQ(complaint(text), "");
  EXPECT_NE(complaint("m,n\n1,2\n").find("no model of hone"), std::string::npos);
  EXPECT_NE(complaint("hone-model 2 x\n{}").find("another format version"), std::string::npos);
  std::string damaged = text;
  damaged[text.size() / 2] ^= 1;
  EXPECT_NE(complaint(damaged).find("damaged"), std::string::npos);
  EXPECT_NE(complaint(text.substr(0, text.size() - 10)).find("damaged"), std::string::npos);
  EXPECT_NE(complaint(sealed("{")).find("does not parse"), std::string::npos);
  EXPECT_NE(complaint(sealed("{\"kind\":\"tree\"}")).find("no member \"operation\""), std::string::npos);
  EXPECT_NE(complaint(sealed("{\"kind\":\"forest\"}")).find("'forest' is not known"), std::string::npos);
  EXPECT_NE(complaint(sealed("[]")).find("no member"), std::string::npos);
}

TEST(LearnedModel, WithPartsThatDoNotFitIsRefused) {
  const auto broken = [](const std::function<void(Model&)>& change) {
    Model model = small_model();
    change(model);
    return complaint(sealed(body_of(model)));
  };
  EXPECT_NE(broken([](Model& m) { m.tree[0].feature = 7; }).find("unknown feature"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.tree[0].left = 0; }).find("does not come after"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.tree[0].right = 9; }).find("does not come after"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.tree[1].left = 5; }).find("has no entry"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.leaves[0].order = {9}; }).find("unknown candidate"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.leaves[0].order.clear(); }).find("names no candidate"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.candidates.resize(1); }).find("fewer than two candidates"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.candidates[0].values.clear(); }).find("one value for each"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.bounds.pop_back(); }).find("one bound"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.features[0].expression = "size"; }).find("no variable"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.tree.clear(); }).find("tree is empty"), std::string::npos);
}

Model ensemble_model() {
  Model model = small_model();
  model.kind = ModelKind::ensemble;
  model.features = {{"elements", "elements"}, {"is_b", "solver == 'b'"}};
  const float always = std::numeric_limits<float>::infinity();
  // b costs 0, the others 0.1; and everything 0.2 more beyond 100 elements.
  model.ensemble.trees = {{0, 1}, {3, 1}};
  model.ensemble.nodes = {{0.5F, 1, 1}, {always, 0, 1}, {always, 0, 2}, {100.0F, 0, 1}, {always, 0, 1}, {always, 0, 2}};
  model.ensemble.values = {0, 0.1F, 0, 0, 0, 0.2F};
  model.chances = {{0, 0.5}, {0.05, 0.001}};
  model.least_chance = 0.02;
  model.longest = 8;
  model.may_be_sure = true;
  return model;
}

TEST(LearnedEnsemble, GivesShortlistsAsLongAsTheNextCandidateMayWin) {
  Model model = ensemble_model();
  EXPECT_NO_THROW(check(model));
  Choice choice = choose(model, {50, 0});
  EXPECT_EQ(choice.order.front(), 1u);
  EXPECT_EQ(choice.confidence, Confidence::sure);
  model.may_be_sure = false;
  EXPECT_EQ(choose(model, {50, 0}).confidence, Confidence::shortlist);
  model.chances = {{0, 0.5}};
  choice = choose(model, {50, 0});
  EXPECT_EQ(choice.shortlist, 3u);
  model.longest = 2;
  EXPECT_EQ(choose(model, {50, 0}).shortlist, 2u);
  EXPECT_EQ(choose(model, {1e6, 0}).confidence, Confidence::unsure);
}

TEST(LearnedEnsemble, SurvivesItsFileAndIsChecked) {
  const Model model = ensemble_model();
  EXPECT_EQ(from_text(to_text(model)).ensemble, model.ensemble);
  const auto broken = [&](const std::function<void(Model&)>& change) {
    Model changed = model;
    change(changed);
    return complaint(sealed(body_of(changed)));
  };
  EXPECT_NE(broken([](Model& m) { m.ensemble.nodes[0].left = 2; }).find("does not come after"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.ensemble.nodes[0].feature = 5; }).find("unknown feature"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.ensemble.nodes[1].threshold = 3; }).find("does not stay"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.ensemble.values.pop_back(); }).find("differ in length"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.ensemble.trees[1].first = 0; }).find("is empty"), std::string::npos);
  EXPECT_NE(broken([](Model& m) { m.chances = {{0.1, 0.5}, {0.1, 0.2}}; }).find("not in order"), std::string::npos);
}

TEST(LearnedEnsemble, TakesEveryRowThroughEveryTree) {
  const Model model = ensemble_model();
  // More rows than are taken at a time, and a rest.
  constexpr std::size_t rows = 21;
  std::mt19937_64 random(1);
  std::vector<float> values;
  std::vector<float> expected;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto elements = static_cast<float>(random() % 200);
    const bool b = random() % 2 == 0;
    values.insert(values.end(), {elements, b ? 1.0F : 0.0F});
    expected.push_back((b ? 0.0F : 0.1F) + (elements <= 100 ? 0.0F : 0.2F));
  }
  std::vector<float> scores(rows);
  evaluate(model.ensemble.tables(), values.data(), 2, rows, scores.data());
  EXPECT_EQ(scores, expected);
}

struct Sized {
  static constexpr std::string_view operation = "doubling";
  std::int64_t elements = 16;
  bool accumulate = false;
  std::int64_t limit = -1;
  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("elements", self.elements);
    visit("accumulate", self.accumulate);
    visit("limit", self.limit);
  }
};

Environment environment() {
  Environment environment;
  environment.vendor = "test";
  environment.architecture = "scripted";
  return environment;
}
const auto everything = [](const Pick&) { return true; };

TEST(LearnedHeuristic, AdvisesOnProblemsOfItsOperation) {
  const auto heuristic = make_heuristic(small_model(), problem_type<Sized>());
  EXPECT_TRUE(heuristic->immediate());
  const Advice advice = heuristic->advise(Problem(Sized{.elements = 50}), environment(), everything);
  EXPECT_EQ(advice.confidence, Confidence::sure);
  ASSERT_EQ(advice.picks.size(), 1u);
  EXPECT_EQ(advice.picks[0].solver, "b");
  EXPECT_FALSE(advice.picks[0].configuration);
  EXPECT_EQ(heuristic->advise(Problem(Sized{.elements = 500}), environment(), everything).picks.size(), 2u);
}

TEST(LearnedHeuristic, IsUnsureElsewhere) {
  const auto heuristic = make_heuristic(small_model(), problem_type<Sized>());
  Environment other = environment();
  other.architecture = "another";
  Advice advice = heuristic->advise(Problem(Sized{.elements = 50}), other, everything);
  EXPECT_EQ(advice.confidence, Confidence::unsure);
  EXPECT_NE(advice.reason.find("environment class 'test/scripted'"), std::string::npos);
  // A field that the model has never heard of has another value than ever before.
  advice = heuristic->advise(Problem(Sized{.elements = 50, .limit = 3}), environment(), everything);
  EXPECT_EQ(advice.confidence, Confidence::unsure);
  EXPECT_NE(advice.reason.find("limit"), std::string::npos);
  advice = heuristic->advise(Problem(Sized{.elements = 5000}), environment(), everything);
  EXPECT_EQ(advice.confidence, Confidence::unsure);
  EXPECT_TRUE(advice.picks.empty());
  // A model that does not know its environment class fits nowhere.
  Model nowhere = small_model();
  nowhere.environment_class = "";
  EXPECT_EQ(make_heuristic(nowhere, problem_type<Sized>())
                ->advise(Problem(Sized{.elements = 50}), Environment(), everything)
                .confidence,
            Confidence::unsure);
}

TEST(LearnedHeuristic, GivesOnlyUsablePicks) {
  const auto heuristic = make_heuristic(small_model(), problem_type<Sized>());
  const Advice advice = heuristic->advise(Problem(Sized{.elements = 50}), environment(),
                                          [](const Pick& pick) { return pick.solver != "b"; });
  EXPECT_NE(advice.confidence, Confidence::sure);
  for (const Pick& pick : advice.picks) EXPECT_NE(pick.solver, "b");
}

TEST(LearnedHeuristic, RefusesAModelOfAnotherOperation) {
  Model other = small_model();
  other.operation = "gemm";
  EXPECT_THROW(make_heuristic(other, problem_type<Sized>()), Error);
  Model field = small_model();
  field.problem[0].name = "size";
  field.features[0].expression = "size";
  EXPECT_THROW(make_heuristic(field, problem_type<Sized>()), Error);
  const test::TemporaryDirectory directory;
  const std::string file = directory.path("x.model");
  EXPECT_THROW(load_heuristic(file, problem_type<Sized>()), Error);
  write_model(small_model(), file);
  EXPECT_NO_THROW(load_heuristic(file, problem_type<Sized>()));
  write_model(other, file);
  try {
    load_heuristic(file, problem_type<Sized>());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_model);
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("operation 'gemm'"), std::string::npos);
  }
}

}  // namespace
}  // namespace hone::learning
