#include "tools/learn/learn_command.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/temporary_directory.hpp"

namespace hone::tools {
namespace {

const std::string sample = HONE_SOURCE_DIR "/tests/tools/learn/sample.csv";

using Result = test::CommandResult;

Result run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "learn");
  return test::run_command(add_learn_command, std::move(arguments));
}

TEST(LearnCommand, TrainsJudgesAndReports) {
  const test::TemporaryDirectory directory;
  const std::string out = directory.path("out");
  const Result trained = run({"train", sample, "--operation", "sample", "--out", out});
  EXPECT_EQ(trained.status, 0) << trained.errors;
  EXPECT_NE(trained.output.find("held-out test problems"), std::string::npos);
  for (const char* file : {"sample.model", "report.txt", "report.json", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(out + "/" + file)) << file;
  }
  const Result judged = run({"evaluate", out + "/sample.model", sample, "--shortlist", "1,3", "--json"});
  EXPECT_EQ(judged.status, 0) << judged.errors;
  const auto json = nlohmann::json::parse(judged.output);
  EXPECT_EQ(json["problems"], 480);
  EXPECT_GT(json["default"]["geomean_regret"], 1.0);
  for (const char* which : {"top", "guarded"}) {
    for (const char* k : {"1", "3"}) {
      for (const char* figure : {"geomean_regret", "p95", "over_5"}) EXPECT_TRUE(json[which][k].contains(figure));
    }
  }
  EXPECT_LE(json["guarded"]["1"]["geomean_regret"], json["top"]["1"]["geomean_regret"]);
}

TEST(LearnCommand, TellsWhatItLeftOutByItsStatus) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path("data.csv");
  std::filesystem::copy(sample, file);
  std::ofstream(file, std::ios::app) << "1,2,f32,nan,2,3\n";
  const Result result = run({"train", file, "--operation", "sample"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.errors.find(":482: field \"small_us\""), std::string::npos);
  EXPECT_NE(result.errors.find("1 lines were left out"), std::string::npos);
}

TEST(LearnCommand, RefusesWithASentence) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(run({"train", directory.path("none.csv"), "--operation", "sample"}).status, 2);
  const Result damaged = run({"evaluate", sample, sample});
  EXPECT_EQ(damaged.status, 2);
  EXPECT_NE(damaged.errors.find("no model of hone"), std::string::npos);
  const std::string out = directory.path("out");
  ASSERT_EQ(run({"train", sample, "--operation", "sample", "--out", out}).status, 0);
  const Result other = run({"evaluate", out + "/sample.model", sample, "--operation", "gemm"});
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.errors.find("for the operation 'sample', not 'gemm'"), std::string::npos);
  const Result condition = run({"train", sample, "--operation", "sample", "--require", "size > 3"});
  EXPECT_EQ(condition.status, 2);
  EXPECT_NE(condition.errors.find("no variable or function 'size'"), std::string::npos);
}

TEST(LearnCommand, EmitsCode) {
  const test::TemporaryDirectory directory;
  const std::string out = directory.path("out");
  ASSERT_EQ(run({"train", sample, "--operation", "sample", "--out", out, "--require", "m >= 16"}).status, 0);
  const Result emitted = run({"emit", out + "/sample.model", "--out", out, "--namespace", "a::b", "--name", "c"});
  EXPECT_EQ(emitted.status, 0) << emitted.errors;
  EXPECT_TRUE(std::filesystem::exists(out + "/c.hpp"));
  std::ifstream stream(out + "/c.cpp");
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find("m >= 16.0"), std::string::npos);
}

}  // namespace
}  // namespace hone::tools
