// `hone db` as a user runs it, but for the process.
#include "tools/db_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <sstream>

#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "storage/read_only_store.hpp"
#include "tests/storage/sample.hpp"
#include "tools/db_json.hpp"

namespace hone::tools {
namespace {

using namespace storage;
using namespace storage::test;
using testing::HasSubstr;
using testing::Not;

class DbCommandTest : public testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    CLI::App app("test", "hone");
    int status = -1;
    add_db_command(app, status);
    arguments.insert(arguments.begin(), "db");
    std::reverse(arguments.begin(), arguments.end());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      std::ostringstream text, trouble;
      status = app.exit(error, text, trouble);
      fmt::print("{}", text.str());
      fmt::print(stderr, "{}", trouble.str());
    }
    std::fflush(nullptr);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return status;
  }
  void fill(const std::string& path, std::uint64_t count, std::uint64_t version = 0) {
    LmdbStore store(Database::open(path));
    Binary binary;
    binary.key[5] = 77;
    binary.code.assign(9000, 3);
    std::vector<Change> changes{PutEnvironment{environment()}, PutBinary{binary}, PutQuarantine{quarantined(1, 9)}};
    for (std::uint64_t i = 0; i < count; ++i) {
      changes.push_back(PutRecord{record(i, environment(), version)});
      changes.push_back(PutTrial{trial(i, 1)});
    }
    ASSERT_FALSE(store.commit(changes));
  }

  TemporaryDirectory directory;
  const std::string a = directory.path("a"), b = directory.path("b"), file = directory.path("lines");
  std::string out, err;
};

TEST_F(DbCommandTest, EveryCommandHasHelpWithAnExample) {
  for (const char* name :
       {"stats", "list", "show", "check", "repair", "compact", "export", "import", "merge", "forget", "build"}) {
    EXPECT_EQ(run({name, "--help"}), 0);
    EXPECT_THAT(out, HasSubstr(fmt::format("Example:\n  ")));
    EXPECT_THAT(out, HasSubstr(fmt::format("hone db {}", name)));
  }
}

TEST_F(DbCommandTest, ExportAndImportAreExact) {
  fill(a, 50);
  ASSERT_EQ(run({"export", "-d", a, file}), 0) << err;
  ASSERT_EQ(run({"import", "-d", b, file}), 0) << err;
  ASSERT_EQ(run({"export", "-d", a}), 0);
  const std::string first = out;
  ASSERT_EQ(run({"export", "-d", b}), 0);
  EXPECT_EQ(out, first);
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 50 + 50 + 3);
  EXPECT_THAT(first, HasSubstr("\"facts\":{\"spilled_registers\":-1,\"vector_registers\":1099511627776}"));
  ASSERT_EQ(run({"import", "-d", b, file}), 0);
  ASSERT_EQ(run({"export", "-d", b}), 0);
  EXPECT_EQ(out, first) << "a second import changes nothing";
}

TEST_F(DbCommandTest, ImportNamesLineFieldAndReasonAndGoesOn) {
  fill(a, 2);
  ASSERT_EQ(run({"export", "-d", a, file}), 0);
  const auto line_with = [](const Change& change, auto edit) {
    nlohmann::ordered_json json = to_json(change);
    edit(json);
    return json.dump() + "\n";
  };
  std::ofstream(file, std::ios::app) << "{\"kind\":\n"
                                     << line_with(PutRecord{record(7)}, [](auto& j) { j["best"]["median_ns"] = -1; })
                                     << line_with(PutRecord{record(7)}, [](auto& j) { j.erase("date"); })
                                     << line_with(PutRecord{record(7)}, [](auto& j) { j["stop"] = "bored"; })
                                     << line_with(PutRecord{record(7)}, [](auto& j) { j["extra"] = 1; })
                                     << line_with(PutRecord{record(7)},
                                                  [](auto& j) { j["rivals"][1]["version"] = 1ull << 40; })
                                     << line_with(PutEnvironment{environment()}, [](auto& j) { j["vendor"] = "amd"; })
                                     << line_with(PutTrial{trial(7, 1)}, [](auto& j) { j["facts"] = "many"; })
                                     << line_with(PutTrial{trial(7, 1)}, [](auto& j) { j["facts"]["a"] = 0.5; })
                                     << line_with(PutTrial{trial(7, 1)}, [](auto& j) { j["facts"]["a"] = ~0ull; })
                                     << "\n"
                                     << "{\"kind\":\"record\",\"date\":4e424559}\n"
                                     << line_with(PutRecord{record(8)}, [](auto&) {});
  EXPECT_EQ(run({"import", "-d", b, file}), 1);
  EXPECT_THAT(err, HasSubstr(":8: no JSON at column"));
  EXPECT_THAT(err, HasSubstr(":9: field \"best.median_ns\": must be a finite time"));
  EXPECT_THAT(err, HasSubstr(":10: field \"date\": is missing"));
  EXPECT_THAT(err, HasSubstr(":11: field \"stop\": must be one of none, exhausted"));
  EXPECT_THAT(err, HasSubstr(":12: field \"extra\": is unknown"));
  EXPECT_THAT(err, HasSubstr(":13: field \"rivals[1].version\": must lie in 0 to 4294967295"));
  EXPECT_THAT(err, HasSubstr(":14: field \"id\": does not fit"));
  EXPECT_THAT(err, HasSubstr(":15: field \"facts\": must be an object"));
  EXPECT_THAT(err, HasSubstr(":16: field \"facts.a\": must be an integer"));
  EXPECT_THAT(err, HasSubstr(":17: field \"facts.a\": is too large"));
  EXPECT_THAT(err, HasSubstr("8 entries imported, 11 lines skipped"));
  EXPECT_TRUE(ReadOnlyStore(b).find(problem_key(8), problem_text(8), environment()));
}

TEST_F(DbCommandTest, AWrongPathIsSaidSoAndLeftAlone) {
  for (const char* name : {"stats", "list", "check", "export"}) {
    EXPECT_EQ(run({name, "-d", directory.path("nothing")}), 2) << name;
    EXPECT_THAT(err, HasSubstr(directory.path("nothing")));
  }
  std::ofstream(file) << "a letter";
  for (const char* name : {"stats", "list", "export", "compact", "import"}) {
    EXPECT_EQ(run({name, "-d", file}), 2) << name;
    EXPECT_NE(err, "");
  }
  EXPECT_EQ(run({"check", "-d", file}), 1);
  EXPECT_EQ(std::filesystem::file_size(file), 8u);
  EXPECT_FALSE(std::filesystem::exists(directory.path("nothing")));
}

TEST_F(DbCommandTest, ListFiltersAndShowTellsAll) {
  fill(a, 30);
  ASSERT_EQ(run({"list", "-d", a, "--containing", " m=7 "}), 0);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2);
  ASSERT_EQ(run({"list", "-d", a, "--json", "--limit", "3"}), 0);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_NO_THROW(change_of_line(out.substr(0, out.find('\n'))));
  ASSERT_EQ(run({"list", "-d", a, "--json", "--operation", "conv2d"}), 0);
  EXPECT_EQ(out, "");
  ASSERT_EQ(run({"list", "-d", a, "--json", "--predicted"}), 0);
  EXPECT_EQ(out, "");
  ASSERT_EQ(run({"show", "-d", a, problem_text(1)}), 0);
  for (const char* kind : {"record", "trial", "quarantine", "environment"}) EXPECT_THAT(out, HasSubstr(kind));
  EXPECT_THAT(out, HasSubstr("\"spilled_registers\": -1"));
  EXPECT_EQ(run({"show", "-d", a, "gemm m=0"}), 1);
  ASSERT_EQ(run({"stats", "-d", a}), 0);
  EXPECT_THAT(out, HasSubstr("30 records of gemm"));
  ASSERT_EQ(run({"stats", "-d", a, "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out)["entries"]["trials"], 30);
}

TEST_F(DbCommandTest, MergeKeepsTheBetterRecordInEitherOrder) {
  fill(a, 10);
  {
    LmdbStore store(Database::open(b));
    Record slower = record(1, environment(), 500), faster = record(2), predicted = record(3);
    using Nanoseconds = std::chrono::duration<double, std::nano>;
    faster.best.timing = {Nanoseconds(10), Nanoseconds(9), Nanoseconds(11), 9};
    faster.date -= std::chrono::hours(1);
    predicted.measured = false;
    predicted.date += std::chrono::hours(1);
    ASSERT_FALSE(store.commit(
        std::vector<Change>{PutRecord{slower}, PutRecord{faster}, PutRecord{predicted}, PutRecord{record(77)}}));
  }
  ASSERT_EQ(run({"merge", directory.path("ab"), a, b}), 0) << err;
  ASSERT_EQ(run({"merge", directory.path("ba"), b, a}), 0) << err;
  ASSERT_EQ(run({"export", "-d", directory.path("ab")}), 0);
  const std::string ab = out;
  ASSERT_EQ(run({"export", "-d", directory.path("ba")}), 0);
  EXPECT_EQ(out, ab);
  ReadOnlyStore merged(directory.path("ab"));
  const auto best = [&](std::uint64_t number) {
    return merged.find(problem_key(number), problem_text(number), environment())->record;
  };
  EXPECT_EQ(best(1), record(1));
  EXPECT_EQ(best(2).best.timing.median.count(), 10);
  EXPECT_TRUE(best(3).measured);
  EXPECT_EQ(best(77), record(77));
}

TEST_F(DbCommandTest, BuildMakesOneFileThatASystemDatabaseReads) {
  fill(a, 10);
  const std::string system = directory.path("gfx90a.hone");
  ASSERT_EQ(run({"build", system, a}), 0) << err;
  ReadOnlyStore store(system);
  EXPECT_EQ(store.find(problem_key(3), problem_text(3), environment())->record, record(3));
  EXPECT_TRUE(store.trials(problem_key(3), environment().id()).empty());
  EXPECT_EQ(run({"check", "-d", system}), 0) << out;
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path("."))) ++entries;
  EXPECT_EQ(entries, 2u) << "nothing else is left";
}

TEST_F(DbCommandTest, ForgetAndCompactMakeTheFileSmaller) {
  fill(a, 2000);
  ASSERT_EQ(run({"forget", "-d", a, problem_text(5)}), 0);
  ASSERT_EQ(run({"show", "-d", a, problem_text(5)}), 1);
  EXPECT_EQ(run({"forget", "-d", a, problem_text(5)}), 1);
  {
    LmdbStore store(Database::open(a));
    std::vector<Change> changes;
    for (std::uint64_t i = 10; i < 2000; ++i) changes.push_back(Forget{problem_key(i), environment().id()});
    ASSERT_FALSE(store.commit(changes));
    EXPECT_EQ(run({"compact", "-d", a}), 2) << "it is in use";
    EXPECT_THAT(err, HasSubstr("in use"));
  }
  const auto before = std::filesystem::file_size(a + "/data.mdb");
  ASSERT_EQ(run({"compact", "-d", a}), 0) << err;
  EXPECT_LT(std::filesystem::file_size(a + "/data.mdb"), before / 2);
  EXPECT_EQ(run({"check", "-d", a}), 0) << out;
  LmdbStore store(Database::open(a));
  EXPECT_TRUE(store.find(problem_key(6), problem_text(6), environment()));
  EXPECT_FALSE(store.commit(std::vector<Change>{PutRecord{record(3000)}}));
}

TEST_F(DbCommandTest, CheckListsDamageAndRepairSavesTheRest) {
  fill(a, 300);
  ASSERT_EQ(run({"check", "-d", a}), 0);
  EXPECT_THAT(out, HasSubstr("no damage"));
  std::string bytes;
  {
    std::ifstream in(a + "/data.mdb", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t place = bytes.find(problem_text(123));
  ASSERT_NE(place, std::string::npos);
  for (std::size_t at = place; at != std::string::npos; at = bytes.find(problem_text(123), at + 1)) {
    flip_bit(a + "/data.mdb", at, 0);
  }
  EXPECT_EQ(run({"check", "-d", a}), 1);
  EXPECT_THAT(out, HasSubstr("the checksum differs"));
  EXPECT_THAT(out, HasSubstr("hone db repair"));
  EXPECT_EQ(run({"repair", a, b}), 1);
  EXPECT_EQ(run({"check", "-d", b}), 0) << out;
  ReadOnlyStore saved(b);
  for (std::uint64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(saved.find(problem_key(i), problem_text(i), environment()).has_value(), i != 123) << i;
  }
  EXPECT_EQ(run({"repair", a, b}), 2) << "never over something that exists";
}

TEST_F(DbCommandTest, RepairFindsEntriesOfAFileWithoutUsableRoots) {
  fill(a, 300);
  for (std::uint64_t offset = 0; offset < 8192; offset += 3) flip_bit(a + "/data.mdb", offset, 1);
  EXPECT_EQ(run({"repair", a, b}), 1) << err;
  ReadOnlyStore saved(b);
  for (std::uint64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(saved.find(problem_key(i), problem_text(i), environment())->record, record(i)) << i;
  }
  EXPECT_EQ(saved.quarantined(problem_key(1), environment().id()).size(), 1u);
}

TEST(DbJson, DatesOutsideTheCalendarComeBackToo) {
  for (const std::int64_t seconds :
       {0ll, 1'700'000'000ll, -62167219200ll, -62167219201ll, 253402300799ll, 253402300800ll,
        std::numeric_limits<long long>::min(), std::numeric_limits<long long>::max()}) {
    Record r = record(1);
    r.date = std::chrono::sys_seconds(std::chrono::seconds(seconds));
    const Change back = change_of_line(to_json(PutRecord{r}).dump());
    EXPECT_EQ(std::get<MergeRecord>(back).record, r) << seconds;
  }
}

}  // namespace
}  // namespace hone::tools
