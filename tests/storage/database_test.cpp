// What opening does with directories that are not as they should be.
#include "storage/database.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "storage/file_system.hpp"
#include "storage/lmdb_store.hpp"
#include "storage/read_only_store.hpp"
#include "storage/store_error.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;
using testing::HasSubstr;

class DatabaseTest : public testing::Test {
 protected:
  // The error that opening gives, and the proof that nothing was touched.
  StoreError refused(const std::string& path, const DatabaseOptions& options = {}) {
    const auto before = contents();
    std::optional<StoreError> error;
    try {
      Database::open(path, options);
      ADD_FAILURE() << "was opened";
    } catch (const StoreError& refusal) {
      error.emplace(refusal);
    }
    EXPECT_EQ(contents(), before);
    if (!error) error.emplace(Errc::invalid_option, "", "");
    EXPECT_NE(error->remedy(), "");
    return *error;
  }
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> result;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path("."))) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      result[entry.path()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return result;
  }
  void make(std::uint64_t records = 10) {
    LmdbStore store(Database::open(directory.path()));
    std::vector<Change> changes;
    for (std::uint64_t i = 0; i < records; ++i) changes.push_back(PutRecord{record(i)});
    ASSERT_FALSE(store.commit(changes));
  }
  void set_format(std::string_view format) {
    const auto database = Database::open(directory.path());
    const ByteView key = std::as_bytes(std::span(std::string_view("format")));
    const Bytes value = encode_text(key, format);
    ASSERT_FALSE(database->data().write([&](MDB_txn* transaction) {
      MDB_val k = to_value(key), v = to_value(value);
      return mdb_put(transaction, database->table(Table::meta), &k, &v, 0);
    }));
  }

  TemporaryDirectory directory;
};

TEST_F(DatabaseTest, AMissingOrEmptyDirectoryBecomesOne) {
  EXPECT_NO_THROW(Database::open(directory.path("a/b/c")));
  std::filesystem::create_directory(directory.path("empty"));
  EXPECT_NO_THROW(Database::open(directory.path("empty")));
}

TEST_F(DatabaseTest, AFileIsRefused) {
  std::ofstream(directory.path()) << "text";
  EXPECT_THAT(refused(directory.path()).cause(), HasSubstr("not a directory"));
}

TEST_F(DatabaseTest, OtherFilesAreRefused) {
  std::filesystem::create_directory(directory.path());
  std::ofstream(directory.path() + "/data.mdb") << std::string(20000, 'x');
  EXPECT_THAT(refused(directory.path()).cause(), HasSubstr("not a hone database"));
  std::ofstream(directory.path() + "/data.mdb", std::ios::trunc) << "x";
  EXPECT_THAT(refused(directory.path()).cause(), HasSubstr("not a hone database"));
}

TEST_F(DatabaseTest, SomebodyElsesLmdbDatabaseIsRefused) {
  std::filesystem::create_directory(directory.path());
  {
    MDB_env* environment = nullptr;
    MDB_txn* transaction = nullptr;
    MDB_dbi tree{};
    ASSERT_EQ(mdb_env_create(&environment), 0);
    ASSERT_EQ(mdb_env_open(environment, directory.path().c_str(), 0, 0644), 0);
    ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
    ASSERT_EQ(mdb_dbi_open(transaction, nullptr, 0, &tree), 0);
    MDB_val key{1, const_cast<char*>("k")}, value{1, const_cast<char*>("v")};
    ASSERT_EQ(mdb_put(transaction, tree, &key, &value, 0), 0);
    ASSERT_EQ(mdb_txn_commit(transaction), 0);
    mdb_env_close(environment);
  }
  EXPECT_THAT(refused(directory.path()).cause(), HasSubstr("no hone identity"));
}

TEST_F(DatabaseTest, ANetworkFileSystemIsRefused) {
  DatabaseOptions options;
  options.file_system_type = [](const std::string&) { return 0x6969L; };
  EXPECT_THAT(refused(directory.path(), options).cause(), HasSubstr("NFS"));
  EXPECT_FALSE(network_file_system(0xEF53)) << "ext4";
  EXPECT_FALSE(network_file_system(0x01021994)) << "tmpfs";
  EXPECT_TRUE(network_file_system(static_cast<int>(0xFF534D42))) << "CIFS, sign extended";
  EXPECT_NE(file_system_type(directory.path("not/there")), 0);
}

TEST_F(DatabaseTest, ANewerFormatIsReadButNotWritten) {
  make();
  set_format("999");
  const StoreError error = refused(directory.path());
  EXPECT_EQ(error.code(), make_error_code(Errc::foreign_schema));
  EXPECT_THAT(error.cause(), HasSubstr("999"));
  ReadOnlyStore store(directory.path());
  EXPECT_EQ(store.format(), 999u);
  EXPECT_TRUE(store.find(problem_key(1), problem_text(1), environment()));
}

TEST_F(DatabaseTest, DamagedMetaPagesAndATruncatedFileAreRefused) {
  make();
  const std::string data = directory.path() + "/data.mdb";
  std::filesystem::resize_file(data, 3 * 4096);
  EXPECT_EQ(refused(directory.path()).code(), make_error_code(Errc::store_damaged));
  std::filesystem::resize_file(data, 4096);
  EXPECT_EQ(refused(directory.path()).code(), make_error_code(Errc::store_damaged));
}

TEST_F(DatabaseTest, AnEmptyFileIsOneThatWasBeingMade) {
  std::filesystem::create_directory(directory.path());
  std::ofstream(directory.path() + "/data.mdb");
  EXPECT_NO_THROW(Database::open(directory.path()));
}

TEST_F(DatabaseTest, DamagedAttemptsAreMadeAnew) {
  make();
  for (std::uint64_t offset = 16; offset < 8192; offset += 7) {
    flip_bit(directory.path() + "/attempts.mdb", offset, offset % 8);
  }
  LmdbStore store(Database::open(directory.path()));
  EXPECT_FALSE(store.begin_attempt(problem_key(1), problem_text(1), 1, candidate(1).candidate));
  EXPECT_TRUE(store.find(problem_key(1), problem_text(1), environment()));
}

TEST_F(DatabaseTest, AMovedDirectoryDoesNotStandInForAnother) {
  const auto first = Database::open(directory.path("a"));
  EXPECT_EQ(Database::open(directory.path("./a")), first) << "one environment for each file";
  std::filesystem::rename(directory.path("a"), directory.path("b"));
  EXPECT_FALSE(first->in_place());
  EXPECT_NE(Database::open(directory.path("a")), first);
}

}  // namespace
}  // namespace hone::storage
