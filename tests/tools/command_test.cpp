// The program's commands that need no database of their own kind.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <hone/error.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tools/config_command.hpp"
#include "tools/devices_command.hpp"
#include "tools/explain_command.hpp"
#include "tools/tune_command.hpp"

namespace hone::tools {
namespace {

using Result = test::CommandResult;

Result run(std::vector<std::string> arguments) {
  const auto add = [](CLI::App& app, int& exit_status) {
    add_config_command(app, exit_status);
    add_devices_command(app, exit_status);
    add_explain_command(app, exit_status);
    add_tune_command(app, exit_status);
  };
  return test::run_command(add, std::move(arguments));
}

TEST(ConfigCommand, PrintsEveryKnobWithItsOrigin) {
  setenv("HONE_PATIENCE", "12", 1);
  const Result result = run({"config", "--json"});
  unsetenv("HONE_PATIENCE");
  EXPECT_EQ(result.status, 0);
  const auto knobs = nlohmann::json::parse(result.output);
  ASSERT_EQ(knobs.size(), 18u);
  EXPECT_EQ(knobs[6]["option"], "patience");
  EXPECT_EQ(knobs[6]["value"], "12");
  EXPECT_EQ(knobs[6]["origin"], "environment");
  EXPECT_EQ(knobs[0]["origin"], "preset");
}

TEST(ExplainCommand, TellsWhatIsKnownAndWhatIsWrong) {
  const Result result = run({"explain", "m=16 n=32 k=8"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.output.find("provenance:  "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("it was never verified"), std::string::npos) << result.output;
  EXPECT_EQ(run({"explain", "m=0 n=32 k=8"}).status, 1);
  EXPECT_EQ(run({"explain", "m=16 speed=9"}).status, 2);
  EXPECT_EQ(run({"explain", "m=16 n=32 k=8", "--operation", "conv9d"}).status, 2);
}

TEST(DevicesCommand, TellsWhatThereIsOrWhyNothing) {
  const Result result = run({"devices", "--json"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const auto found = nlohmann::json::parse(result.output);
  EXPECT_EQ(found["devices"][0]["name"], "host");
  EXPECT_NE(found["devices"][0]["facts"], nlohmann::json::object());
  EXPECT_EQ(found["devices"].size() == 1, found["no_gpu"] != "") << result.output;
  EXPECT_NE(run({"devices"}).output.find("host: "), std::string::npos);
}

TEST(ConfigCommand, NamesAWrongVariable) {
  setenv("HONE_SPEED", "12", 1);
  const Result result = run({"config"});
  unsetenv("HONE_SPEED");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.errors.find("unknown variable HONE_SPEED"), std::string::npos) << result.errors;
}

TEST(TuneCommand, TunesOnceAndRemembers) {
  const test::TemporaryDirectory directory;
  const std::vector<std::string> arguments = {
      "tune",      "gemm", "--problem",  "m=3 n=5 k=7", "--database", directory.path("db"),
      "--seconds", "5",    "--patience", "5",           "--json"};
  const Result first = run(arguments);
  EXPECT_EQ(first.status, 0) << first.errors;
  const auto tuned = nlohmann::json::parse(first.output);
  EXPECT_EQ(tuned["problem"], "gemm m=3 n=5 k=7");
  EXPECT_EQ(tuned["provenance"], "user");
  EXPECT_GT(tuned["time_ns"].get<double>(), 0);
  EXPECT_GT(tuned["evaluations"].get<int>(), 0);
  const Result second = run(arguments);
  const auto remembered = nlohmann::json::parse(second.output);
  EXPECT_EQ(remembered["solver"], tuned["solver"]);
  EXPECT_EQ(remembered["evaluations"], 0);
}

TEST(TuneCommand, SaysWhatIsWrongAndDoesTheRest) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory.path("list")) << "# shapes\nm=2 n=2 k=2\nm=2 n=x k=2\n\nm=2 n=0 k=2\n";
  const Result result = run({"tune", "--list", directory.path("list"), "--evaluations", "3", "--json"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.errors.find(directory.path("list") + ":3: gemm: field n takes an integer, not 'x'"),
            std::string::npos)
      << result.errors;
  EXPECT_NE(result.errors.find("field n"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(result.output)["problem"], "gemm m=2 n=2 k=2");

  EXPECT_EQ(run({"tune", "--list", directory.path("missing")}).status, 2);
  EXPECT_EQ(run({"tune"}).status, 2);
  EXPECT_EQ(run({"tune", "conv9d", "--problem", "m=1"}).status, 2);
  EXPECT_EQ(run({"tune", "--problem", "m=1 q=2"}).status, 2);
  EXPECT_NE(run({"tune", "--seconds", "-1", "--problem", "m=1 n=1 k=1"}).status, 0);
}

}  // namespace
}  // namespace hone::tools
