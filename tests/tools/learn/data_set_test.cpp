#include "tools/learn/data_set.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <hone/data_type.hpp>
#include <hone/error.hpp>
#include <sstream>

#include "tests/support/small_model.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tools/learn/recipe.hpp"
#include "tools/learn/training.hpp"
#include "tools/learn/trial_table.hpp"

namespace hone::tools::learn {
namespace {

class DataSetTest : public ::testing::Test {
 protected:
  DataSet read(const std::string& text, const std::string& operation = "sample", const std::string& candidates = "") {
    file_ = directory_.path("data.csv");
    std::ofstream(file_) << text;
    ReadOptions options{.operation = operation};
    if (!candidates.empty()) {
      options.candidates = directory_.path("ids.csv");
      std::ofstream(options.candidates) << candidates;
    }
    return read_data_set({file_}, options);
  }
  std::string refusal(const std::string& text, const std::string& operation = "sample",
                      const std::string& candidates = "") {
    try {
      read(text, operation, candidates);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  test::TemporaryDirectory directory_;
  std::string file_;
};

TEST_F(DataSetTest, ReadsAColumnForEachCandidate) {
  const DataSet data = read("m,type,a_us,b_ms,split\n64,f32,1.5,2,train\n32,f64,inf,1,val\n");
  ASSERT_EQ(data.problems.size(), 2u);
  EXPECT_EQ(data.problem[1].categories, (std::vector<std::string>{"f32", "f64"}));
  EXPECT_FALSE(data.problem[0].categorical());
  EXPECT_EQ(data.problems[0].measurements[0].time, 1500);
  EXPECT_EQ(data.problems[0].measurements[1].time, 2e6);
  EXPECT_EQ(data.problems[0].best, 1500);
  EXPECT_TRUE(std::isinf(data.problems[1].measurements[0].time));  // failed, which is information
  EXPECT_EQ(data.problems[1].best, 1e6);
  EXPECT_EQ(data.problems[1].split, Split::validation);
  EXPECT_EQ(data.candidates[1].name, "b");
}

TEST_F(DataSetTest, PrefersMediansWhereThereAreSome) {
  const DataSet data = read("m,a_us,b_us,a_median_us,b_median_us,a_mean_us,b_mean_us\n64,1,2,3,4,5,6\n");
  EXPECT_EQ(data.candidates.size(), 2u);
  EXPECT_EQ(data.problems[0].measurements[0].time, 3000);
  EXPECT_EQ(data.problems[0].measurements[1].time, 4000);
}

TEST_F(DataSetTest, ReadsPairsOfCandidateAndTime) {
  const DataSet data =
      read("m,times_us\n64,0:3 7:2 9:inf\n", "mm", "id,kind,block_m\n0,extern_mm,\n7,triton,32\n9,triton,-1\n");
  ASSERT_EQ(data.candidates.size(), 3u);
  EXPECT_EQ(data.candidates[0].name, "extern_mm");
  EXPECT_EQ(data.candidates[1].name, "triton{block_m=32}");
  EXPECT_EQ(data.default_candidate, 0u);
  EXPECT_EQ(data.problems[0].best, 2000);
  EXPECT_EQ(data.candidates[1].values, (std::vector<double>{32, 1}));
  EXPECT_EQ(data.candidates[2].values, (std::vector<double>{0, 1}));
}

TEST_F(DataSetTest, NamesLineFieldAndReasonOfWhatIsLeftOut) {
  const DataSet data = read(
      "m,a_us,b_us,split\n64,1,2,train\n64,nan,2,train\n64,x,2,train\n64,-1,2,train\n64,1,2\n,1,2,train\n"
      "inf,1,2,train\n64,1,2,later\n");
  EXPECT_EQ(data.problems.size(), 1u);
  ASSERT_EQ(data.complaints.size(), 7u);
  const auto has = [&](const std::string& text) {
    return std::any_of(data.complaints.begin(), data.complaints.end(),
                       [&](const std::string& complaint) { return complaint == file_ + text; });
  };
  EXPECT_TRUE(has(":3: field \"a_us\": the time is not a number; inf stands for a candidate that failed"));
  EXPECT_TRUE(has(":4: field \"a_us\": 'x' is not a number"));
  EXPECT_TRUE(has(":5: field \"a_us\": the time -1 is not positive"));
  EXPECT_TRUE(has(":6: the line has 3 fields, not 4"));
  EXPECT_TRUE(has(":7: field \"m\": it is empty"));
  EXPECT_TRUE(has(":8: field \"m\": 'inf' is not a finite number"));
  EXPECT_TRUE(has(":9: field \"split\": 'later' is not one of train, val, test, dropped"));
}

TEST_F(DataSetTest, NamesWhatIsWrongWithPairs) {
  const DataSet data = read("m,times_us\n64,0:3 7:2\n64,0:3 8:2\n64,0:3 7\n64,0:3 0:4\n64,0:nan 7:1\n", "mm",
                            "id,kind\n0,extern_mm\n7,triton\n");
  EXPECT_EQ(data.problems.size(), 1u);
  ASSERT_EQ(data.complaints.size(), 4u);
  EXPECT_NE(data.complaints[0].find(":3: field \"times_us\": candidate 8 is not in the table"), std::string::npos);
  EXPECT_NE(data.complaints[1].find("'7' is not id:time"), std::string::npos);
  EXPECT_NE(data.complaints[2].find("candidate 0 is there twice"), std::string::npos);
  EXPECT_NE(data.complaints[3].find("not a number"), std::string::npos);
}

TEST_F(DataSetTest, RefusesFilesThatCannotBeLearnedFrom) {
  EXPECT_NE(refusal("").find("no line that names its columns"), std::string::npos);
  EXPECT_NE(refusal("m,n\n1,2\n").find("no times with a unit"), std::string::npos);
  EXPECT_NE(refusal("m,a,b\n1,2,3\n").find("no times with a unit"), std::string::npos);
  EXPECT_NE(refusal("a_us,b_us\n1,2\n").find("no problem fields"), std::string::npos);
  EXPECT_NE(refusal("m,a_us\n1,2\n").find("1 candidate"), std::string::npos);
  EXPECT_NE(refusal("m,a_us,b_us\n1,inf,inf\n").find("no usable problem"), std::string::npos);
  EXPECT_NE(refusal("m,a_us,b_us\n1,,2\n").find("no usable problem"), std::string::npos);
  EXPECT_NE(refusal("m,times_us\n1,0:2 1:3\n", "mm", "id,block\n0,1\n").find("no column 'kind'"), std::string::npos);
  EXPECT_NE(refusal("m,times_us\n1,0:2 1:3\n", "mm").find("cannot be read"), std::string::npos);
  EXPECT_THROW(read_data_set({directory_.path("none")}, {.operation = "sample"}), Error);
}

TEST_F(DataSetTest, CountsProblemsWithOneCandidate) {
  const DataSet data = read("m,a_us,b_us\n1,2,3\n2,4,\n3,inf,inf\n");
  EXPECT_EQ(data.problems.size(), 1u);
  EXPECT_EQ(data.skipped, 2u);
}

TEST_F(DataSetTest, KeepsTheModelsCategoriesAndMarksNewOnes) {
  learning::Model model = test::small_model();
  model.problem = {{"m"}, {"type", {"f32", "f64"}}};
  model.candidate = {{"candidate", {"a", "b"}}};
  file_ = directory_.path("data.csv");
  std::ofstream(file_) << "type,m,a_us,b_us,c_us\nf16,4,1,2,3\nf64,5,1,2,3\n";
  const DataSet data = read_data_set({file_}, {.operation = "sample", .model = &model});
  EXPECT_EQ(data.problems[0].values, (std::vector<double>{4, -1}));
  EXPECT_EQ(data.problems[1].values, (std::vector<double>{5, 1}));
  EXPECT_EQ(data.candidates[2].values, (std::vector<double>{-1}));
  std::ofstream(file_) << "m,a_us,b_us\n4,1,2\n";
  EXPECT_THROW(read_data_set({file_}, {.operation = "sample", .model = &model}), Error);
}

TEST_F(DataSetTest, SplitsNeverDivideAGroup) {
  std::string text = "m,k,n,layout,a_us,b_us\n";
  for (int m = 1; m <= 300; ++m) {
    for (const char* layout : {"nn", "nt", "tn"}) text += std::to_string(m) + ",7,9," + layout + ",1,2\n";
  }
  DataSet data = read(text, "mm");
  const Recipe recipe = recipe_for("mm", data);
  split_by_seed(data, recipe, 3);
  std::map<double, Split> of_group;
  for (const MeasuredProblem& problem : data.problems) {
    const auto [place, added] = of_group.emplace(problem.values[0], problem.split);
    EXPECT_EQ(place->second, problem.split);
  }
  const auto train = static_cast<double>(problems_of(data, Split::train).size()) / 900;
  EXPECT_GT(train, 0.5);
  EXPECT_LT(train, 0.7);
  DataSet other = read(text, "mm");
  split_by_seed(other, recipe, 4);
  EXPECT_NE(problems_of(other, Split::test), problems_of(data, Split::test));
}

struct Exported {
  static constexpr std::string_view operation = "exported";
  std::int64_t m = 0;
  DataType type = f32;
  float alpha = 1;
  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("m", self.m);
    visit("type", self.type);
    visit("alpha", self.alpha);
  }
};

ExportedTrial trial(std::int64_t m, const char* solver, const char* configuration, bool is_default, double time) {
  ExportedTrial result{Problem(Exported{.m = m, .alpha = 0.5F}), {}, is_default};
  result.trial.candidate.candidate = {solver, 2, configuration};
  if (time > 0) {
    result.trial.candidate.timing = {std::chrono::duration<double, std::nano>(time), {}, {}, 5};
  } else {
    result.trial.status = TrialStatus::wrong_result;
    result.trial.reason = "off by \"one\", twice\nat least";
  }
  return result;
}

TEST_F(DataSetTest, ReadsWhatExportWrites) {
  Environment environment;
  environment.vendor = "intel";
  environment.architecture = "x86_64";
  std::ostringstream out;
  write_trial_table(
      out, problem_type<Exported>(), environment, {"own", "library"},
      {trial(64, "own", "tile=8", true, 100), trial(64, "own", "tile=16", false, 90), trial(64, "library", "", true, 0),
       trial(32, "own", "tile=4", true, 50), trial(32, "own", "tile=4", true, 55), trial(32, "library", "", true, 40)});
  const DataSet data = read(out.str(), "exported");
  EXPECT_TRUE(data.complaints.empty());
  EXPECT_EQ(data.environment_class, "intel/x86_64");
  ASSERT_EQ(data.problems.size(), 2u);
  ASSERT_EQ(data.candidates.size(), 3u);
  // The default configuration is one candidate, whatever it is for a problem.
  EXPECT_EQ(data.candidates[0].name, "own");
  EXPECT_FALSE(data.candidates[0].pick.configuration);
  EXPECT_EQ(data.candidates[0].pick.version, 2u);
  EXPECT_EQ(data.candidates[1].pick.configuration, "tile=16");
  EXPECT_EQ(data.default_candidate, 0u);
  EXPECT_TRUE(std::isinf(data.problems[0].measurements[2].time));
  EXPECT_EQ(data.problems[1].measurements[0].time, 55);  // the newest counts
  EXPECT_EQ(data.problems[1].values, (std::vector<double>{32, 0, 0.5}));
}

// Known of each candidate before any run, and the same whatever the sizes: they belong to the candidate.
TEST_F(DataSetTest, FactsOfTheCodeAreColumnsAndVariablesOfTheCandidate) {
  std::vector<ExportedTrial> trials = {trial(64, "own", "tile=8", true, 100), trial(64, "own", "tile=16", false, 90),
                                       trial(64, "own", "tile=32", false, 80), trial(32, "own", "tile=16", false, 70),
                                       trial(32, "own", "tile=32", false, 0)};
  trials[0].trial.facts = {{"spilled_registers", 1}};
  trials[1].trial.facts = {{"spilled_registers", 3}, {"vector_registers", 40}};
  trials[3].trial.facts = {{"spilled_registers", 7}};
  std::ostringstream out;
  write_trial_table(out, problem_type<Exported>(), {}, {"own"}, trials);
  EXPECT_NE(out.str().find(",samples,reason,fact_spilled_registers,fact_vector_registers\n"), std::string::npos);
  EXPECT_NE(out.str().find("own,2,tile=16,0,ok,90.0,0.0,0.0,5,,3,40\n"), std::string::npos);
  EXPECT_NE(out.str().find("own,2,tile=32,0,ok,80.0,0.0,0.0,5,,,\n"), std::string::npos);
  const DataSet data = read(out.str() + "64,f32,0.5,own,2,tile=64,0,ok,5,1,1,5,,much,\n", "exported");
  ASSERT_EQ(data.complaints.size(), 1u);
  EXPECT_NE(data.complaints[0].find("field \"fact_spilled_registers\": 'much' is no whole number"), std::string::npos);
  const auto value = [&](std::size_t candidate, std::string_view name) {
    for (std::size_t i = 0; i < data.candidate.size(); ++i) {
      if (data.candidate[i].name == name) return data.candidates[candidate].values[i];
    }
    ADD_FAILURE() << "no variable " << name;
    return 0.0;
  };
  ASSERT_EQ(data.candidates.size(), 3u);
  EXPECT_EQ(value(0, "fact_spilled_registers"), 0) << "the default is not one configuration";
  EXPECT_EQ(value(1, "fact_spilled_registers"), 7) << "the greatest";
  EXPECT_EQ(value(1, "fact_vector_registers"), 40);
  EXPECT_EQ(value(2, "fact_spilled_registers"), 0);
  const auto features = features_of(recipe_for("exported", data), data, true);
  EXPECT_TRUE(std::any_of(features.begin(), features.end(),
                          [](const auto& feature) { return feature.name == "fact_spilled_registers"; }));
  EXPECT_EQ(learning::Features(data.problem, data.candidate, features).size(), features.size());
}

TEST_F(DataSetTest, ATableWithoutFactsHasNoColumnsForThem) {
  std::ostringstream out;
  write_trial_table(out, problem_type<Exported>(), {}, {"own"}, {trial(64, "own", "tile=8", true, 100)});
  EXPECT_EQ(out.str().find("fact_"), std::string::npos);
}

TEST_F(DataSetTest, RefusesTrialsWithAnotherHead) {
  std::ostringstream out;
  write_trial_table(out, problem_type<Exported>(), {}, {"own"}, {trial(64, "own", "", true, 100)});
  const std::string good = out.str();
  EXPECT_NE(refusal(good, "gemm").find("of the operation 'exported', not 'gemm'"), std::string::npos);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refusal(text, "exported");
  };
  EXPECT_NE(changed("hone-trials", "other").find("of format"), std::string::npos);
  EXPECT_NE(changed("\"ns\"", "\"us\"").find("time_unit"), std::string::npos);
  EXPECT_NE(changed("\"time_unit\"", "\"unit\"").find("head is not as"), std::string::npos);
  EXPECT_NE(changed("# {", "# ").find("head is not as"), std::string::npos);
  EXPECT_NE(changed("time_ns", "time").find("no column 'time_ns'"), std::string::npos);
  EXPECT_NE(refusal("# {}", "exported").find("no lines after the head"), std::string::npos);
}

TEST_F(DataSetTest, NamesWrongTrials) {
  std::ostringstream out;
  write_trial_table(out, problem_type<Exported>(), {}, {"own"},
                    {trial(64, "own", "", true, 100), trial(64, "library", "", true, 90)});
  const DataSet data = read(out.str() +
                                "64,f32,1,own,2,,1,ok,nan,1,1,5,\n64,f32,1,own,x,,1,ok,5,1,1,5,\n"
                                "64,f32,1,own,2,,1,lost,5,1,1,5,\n64,f32,1,own,2,,1,ok,0,1,1,5,\n",
                            "exported");
  ASSERT_EQ(data.complaints.size(), 4u);
  EXPECT_NE(data.complaints[0].find(":5: field \"time_ns\": 'nan' is no time"), std::string::npos);
  EXPECT_NE(data.complaints[1].find(":6: field \"version\": 'x' is no version"), std::string::npos);
  EXPECT_NE(data.complaints[2].find(":7: field \"status\": 'lost' is no outcome"), std::string::npos);
  EXPECT_NE(data.complaints[3].find(":8: field \"time_ns\": the time 0 is not positive"), std::string::npos);
}

}  // namespace
}  // namespace hone::tools::learn
