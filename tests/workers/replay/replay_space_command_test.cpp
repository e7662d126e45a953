#include "tools/replay_space_command.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <hone/error.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.hpp"

namespace hone::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A folder with two recorded spaces of one kernel and one of another.
class ReplaySpaceCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a__one", "a__two", "b__one"}) {
      std::ofstream file(path(name));
      file << "x,y,status,mean_ms,compile_ms\n";
      for (int x = 1; x <= 8; ++x) {
        for (int y = 1; y <= 8; ++y) {
          if (x == 7) {
            file << fmt::format("{},{},runtime_failed,,5\n", x, y);
          } else {
            file << fmt::format("{},{},ok,{},5\n", x, y, 1 + (x - 3) * (x - 3) + (y - 5) * (y - 5));
          }
        }
      }
    }
    std::ofstream(directory_.path("README.md")) << "not a space";
  }

  std::string path(const std::string& name) const { return directory_.path(name + ".csv"); }

  // What the command printed.
  std::string run(const std::string& line) {
    CLI::App app("replay");
    int exit_status = -1;
    add_replay_space_commands(app, exit_status);
    ::testing::internal::CaptureStdout();
    try {
      app.parse(line);
    } catch (...) {
      ::testing::internal::GetCapturedStdout();
      throw;
    }
    EXPECT_EQ(exit_status, 0);
    return ::testing::internal::GetCapturedStdout();
  }

  test::TemporaryDirectory directory_;
};

TEST_F(ReplaySpaceCommand, ScoresOneSpaceAsJson) {
  const auto json = nlohmann::json::parse(
      run(fmt::format("space {} --strategy random --evaluations 5,64 --repeats 4 --json", path("a__one"))));
  EXPECT_EQ(json["space"], "a__one");
  EXPECT_EQ(json["strategy"], "random");
  EXPECT_EQ(json["evaluations"].size(), 2u);
  EXPECT_GE(json["evaluations"]["5"]["mean"], 1.0);
  EXPECT_GE(json["evaluations"]["5"]["p90"], json["evaluations"]["5"]["mean"]);
  EXPECT_GT(json["evaluations"]["5"]["random"], 1.0);
  EXPECT_EQ(json["evaluations"]["64"]["mean"], 1.0);
  EXPECT_NEAR(json["evaluations"]["64"]["random"], 1.0, 1e-12);
  EXPECT_EQ(json["target"]["reached"], 1.0);
  EXPECT_EQ(json["stopped"]["evaluations"], 4);
  const auto impatient = nlohmann::json::parse(
      run(fmt::format("space {} --evaluations 64 --patience 2 --repeats 4 --json", path("a__one"))));
  EXPECT_EQ(impatient["stopped"]["patience"], 4);
}

TEST_F(ReplaySpaceCommand, ScoresAFolderAsJson) {
  const std::string options = "--evaluations 10 --repeats 3 --json";
  const auto json = nlohmann::json::parse(run(fmt::format("spaces {} {}", directory_.path(), options)));
  ASSERT_EQ(json["spaces"].size(), 3u);
  EXPECT_EQ(json["spaces"][2]["space"], "b__one");
  EXPECT_GE(json["geomean"]["10"]["found"], 1.0);
  EXPECT_EQ(json["geomean"]["10"]["random"], json["spaces"][0]["evaluations"]["10"]["random"]);
  const auto some = nlohmann::json::parse(run(fmt::format("spaces {} --kernels b {}", directory_.path(), options)));
  EXPECT_EQ(some["spaces"].size(), 1u);
}

TEST_F(ReplaySpaceCommand, ThreadsDoNotChangeTheResult) {
  const std::string line = fmt::format("space {} --evaluations 12 --repeats 6 --json", path("a__one"));
  EXPECT_EQ(run(line), run(line + " --threads 3"));
}

TEST_F(ReplaySpaceCommand, AWarmStartFromTheSameSpaceFindsItsBestAtOnce) {
  const auto json = nlohmann::json::parse(run(fmt::format(
      "space {} --warm-start {} --warm-count 2 --evaluations 1 --repeats 2 --json", path("a__one"), path("a__two"))));
  EXPECT_EQ(json["evaluations"]["1"]["mean"], 1.0);
}

TEST_F(ReplaySpaceCommand, AWarmStartCanKnowOnlyWhatASearchMeasured) {
  const std::string line =
      fmt::format("space {} --warm-start {} --evaluations 1 --repeats 2 --json", path("a__one"), path("a__two"));
  const auto little = nlohmann::json::parse(run(line + " --warm-evaluations 1 --seed 5"));
  EXPECT_GT(little["evaluations"]["1"]["mean"], 1.0);
  EXPECT_EQ(nlohmann::json::parse(run(line + " --warm-evaluations 64"))["evaluations"]["1"]["mean"], 1.0);
}

TEST_F(ReplaySpaceCommand, BeginsEverySpaceFromEveryOtherDeviceOfItsKernel) {
  const std::string line = fmt::format("spaces {} --warm-starts --evaluations 1 --repeats 2 --json", directory_.path());
  const auto json = nlohmann::json::parse(run(line));
  ASSERT_EQ(json["spaces"].size(), 2u);
  EXPECT_EQ(json["spaces"][0]["space"], "a__one <- a__two");
  EXPECT_EQ(json["geomean"]["1"]["found"], 1.0);
  const std::string chosen =
      fmt::format("spaces {} --devices one --evaluations 1 --repeats 1 --json", directory_.path());
  EXPECT_EQ(nlohmann::json::parse(run(chosen))["spaces"].size(), 2u);
  EXPECT_THROW(run(line + " --devices one"), Error);
  EXPECT_THROW(run(line + " --devices three"), Error);
}

TEST_F(ReplaySpaceCommand, PrintsTables) {
  EXPECT_THAT(run(fmt::format("space {} --repeats 2 --evaluations 10", path("a__one"))),
              AllOf(HasSubstr("a__one, strategy surrogate, 2 searches"), HasSubstr("stopped by evaluations: 2")));
  EXPECT_THAT(run(fmt::format("spaces {} --repeats 2 --evaluations 10", directory_.path())),
              HasSubstr("geometric mean"));
}

TEST_F(ReplaySpaceCommand, RefusesWhatMakesNoSense) {
  EXPECT_THROW(run("space /nonexistent/a__b.csv"), CLI::ParseError);
  EXPECT_THROW(run(fmt::format("space {} --strategy best", path("a__one"))), CLI::ParseError);
  EXPECT_THROW(run(fmt::format("space {} --evaluations 0", path("a__one"))), CLI::ParseError);
  EXPECT_THROW(run("spaces /nonexistent"), Error);
  EXPECT_THROW(run(fmt::format("spaces {} --kernels c", directory_.path())), Error);
  std::ofstream(path("c__one")) << "u,status,mean_ms,compile_ms\n1,ok,1,1\n";
  EXPECT_THROW(run(fmt::format("space {} --warm-start {}", path("a__one"), path("c__one"))), Error);
}

}  // namespace
}  // namespace hone::tools
