#include "workers/replay/recorded_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <hone/error.hpp>

#include "tests/support/temporary_directory.hpp"

namespace hone::workers {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view header = "x,layout,status,mean_ms,compile_ms,extra\n";

RecordedSpace parse(const std::string& rows, std::optional<std::string_view> runs = std::nullopt) {
  return RecordedSpace::parse("toy", std::string(header) + rows, runs);
}

std::string error(const std::string& csv, std::optional<std::string_view> runs = std::nullopt) {
  try {
    RecordedSpace::parse("toy", csv, runs);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), make_error_code(Errc::invalid_option));
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

std::string row_error(const std::string& rows, std::optional<std::string_view> runs = std::nullopt) {
  return error(std::string(header) + rows, runs);
}

TEST(RecordedSpace, ReadsParametersOutcomesAndTimes) {
  const RecordedSpace space = parse("8,nchw,ok,2.5,100,\n1,nhwc,compile_failed,,30,\r\n2,nchw,ok,1.5,,\n");
  EXPECT_EQ(space.name(), "toy");
  ASSERT_EQ(space.rows().size(), 3u);
  EXPECT_EQ(space.configuration(0).text(), "x=8,layout=nchw");
  EXPECT_EQ(space.configuration(1).text(), "x=1,layout=nhwc");
  EXPECT_EQ(space.rows()[1].status, RecordedStatus::compile_failed);
  EXPECT_EQ(space.rows()[1].compile.count(), 30);
  EXPECT_EQ(space.best().count(), 1.5);
  EXPECT_EQ(space.worst().count(), 2.5);
  EXPECT_THAT(space.ranking(), ::testing::ElementsAre(2u, 0u));
  ASSERT_EQ(space.runs(space.rows()[0]).size(), 1u);
  EXPECT_EQ(space.runs(space.rows()[0])[0].count(), 2.5);
}

TEST(RecordedSpace, HoldsExactlyWhatIsRecorded) {
  const RecordedSpace space = parse("8,a,ok,2,1,\n1,b,ok,1,1,\n2,a,ok,1,1,\n");
  EXPECT_EQ(space.space().count(), 3u);
  EXPECT_FALSE(space.space().parse("x=1,layout=a"));
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(space.row_of(space.configuration(row)), row);
  SearchSpace other;
  other.integer("x", {1, 9}).enumeration("layout", {"a"});
  EXPECT_FALSE(space.row_of(other.configuration({1, 0})));
  EXPECT_FALSE(space.row_of(other.configuration({9, 0})));
}

TEST(RecordedSpace, ReadsSingleRuns) {
  const RecordedSpace space =
      parse("8,a,ok,2,1,\n1,b,runtime_failed,,1,\n2,a,ok,1,1,\n", "t0,t1,t2\n3,1.5,1.5\n\n1,1\n");
  EXPECT_EQ(space.runs(space.rows()[0]).size(), 3u);
  EXPECT_EQ(space.runs(space.rows()[0])[0].count(), 3);
  EXPECT_EQ(space.runs(space.rows()[1]).size(), 0u);
  EXPECT_EQ(space.runs(space.rows()[2]).size(), 2u);
}

TEST(RecordedSpace, ErrorsNameLineAndColumn) {
  EXPECT_THAT(error(""), HasSubstr("toy, line 1, column 1: the file is empty"));
  EXPECT_THAT(error("x,mean_ms,compile_ms\n"), HasSubstr("no column 'status'"));
  EXPECT_THAT(error("x,status,mean_ms\n"), HasSubstr("no column 'compile_ms'"));
  EXPECT_THAT(error("status,mean_ms,compile_ms\nok,1,1\n"), HasSubstr("no parameters"));
  EXPECT_THAT(error(std::string(header)), HasSubstr("no rows"));
  EXPECT_THAT(row_error("8,a,ok,2,1\n"), HasSubstr("line 2, column 1: the row has 5 columns, the header 6"));
  EXPECT_THAT(row_error("8,a,ok,2,1,\n1,,ok,2,1,\n"), HasSubstr("line 3, column 3: the value of 'layout' is missing"));
  EXPECT_THAT(row_error("8,a,fine,2,1,\n"), HasSubstr("line 2, column 5: 'fine' is no status"));
  EXPECT_THAT(row_error("8,a,ok,2s,1,\n"), HasSubstr("line 2, column 8: '2s' is no time"));
  EXPECT_THAT(row_error("8,a,ok,,1,\n"), HasSubstr("line 2, column 8: '' is no time"));
  EXPECT_THAT(row_error("8,a,ok,0,1,\n"), HasSubstr("line 2, column 8: a time must be positive"));
  EXPECT_THAT(row_error("8,a,ok,nan,1,\n"), HasSubstr("'nan' is no time"));
  EXPECT_THAT(row_error("8,a,ok,1,-1,\n"), HasSubstr("line 2, column 10: '-1' is no time"));
  EXPECT_THAT(row_error("8,a,ok,2,1,\n8,a,ok,2,1,\n"),
              HasSubstr("line 3, column 1: the configuration is the same as in line 2"));
  EXPECT_THAT(row_error("8,a,runtime_failed,,1,\n"), HasSubstr("no configuration ran"));
  EXPECT_THAT(row_error("8,a b,ok,1,1,\n9,c,ok,1,1,\n"), HasSubstr("leave out spaces"));
}

TEST(RecordedSpace, ErrorsInRunsNameTheirFile) {
  const std::string rows = "8,a,ok,2,1,\n1,b,ok,2,1,\n";
  EXPECT_THAT(row_error(rows, ""), HasSubstr("toy.times, line 1, column 1: the file is empty"));
  EXPECT_THAT(row_error(rows, "t0\n1\n"), HasSubstr("toy.times, line 2, column 1: only 1 rows"));
  EXPECT_THAT(row_error(rows, "t0\n1\n2\n3\n"), HasSubstr("line 4, column 1: more rows"));
  EXPECT_THAT(row_error(rows, "t0,t1\n1,x\n2,2\n"), HasSubstr("line 2, column 3: 'x' is no time"));
  EXPECT_THAT(row_error(rows, "t0,t1\n1,1\n,\n"), HasSubstr("line 3, column 1: a configuration has runs exactly"));
}

TEST(RecordedSpace, MissingAndDamagedFilesAreNamed) {
  EXPECT_THROW(RecordedSpace::read("/nonexistent/a__b.csv"), Error);
  const test::TemporaryDirectory directory;
  std::ofstream(directory.path("a__b.csv")) << header << "8,a,ok,2,1,\n";
  EXPECT_EQ(RecordedSpace::read(directory.path("a__b.csv")).name(), "a__b");
  std::ofstream(directory.path("a__b.times.csv.xz")) << "no archive";
  try {
    RecordedSpace::read(directory.path("a__b.csv"));
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("no complete .xz file"));
  }
}

// The measured spaces: the rules of their description give the recorded configurations, each once.
TEST(RecordedSpace, RulesAsTextGiveTheMeasuredSpace) {
  const std::filesystem::path file = std::string(HONE_SOURCE_ROOT) + "/../shared/data/spaces/gemm__RTX_3090.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const RecordedSpace recorded = RecordedSpace::read(file);
  SearchSpace rules;
  for (const Parameter& parameter : recorded.space().parameters()) rules.integer(parameter.name, parameter.values);
  for (const char* rule : {"KWG%KWI==0", "MWG%(MDIMC*VWM)==0", "NWG%(NDIMC*VWN)==0", "MWG%(MDIMA*VWM)==0",
                           "NWG%(NDIMB*VWN)==0", "KWG%((MDIMC*NDIMC)/MDIMA)==0", "KWG%((MDIMC*NDIMC)/NDIMB)==0"}) {
    rules.rule(rule);
  }
  EXPECT_EQ(rules.count(), recorded.rows().size());
  EXPECT_EQ(recorded.space().count(), recorded.rows().size());
  rules.for_each([&](const Configuration& configuration) {
    EXPECT_TRUE(recorded.row_of(configuration)) << configuration.text();
    return recorded.row_of(configuration).has_value();
  });
}

}  // namespace
}  // namespace hone::workers
