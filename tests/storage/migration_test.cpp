// Databases of older formats. Format 1 is the first, so the later ones are made up here.
#include "storage/migration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "storage/store_error.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr std::uint64_t records = 500;

class Migration : public testing::Test {
 protected:
  // A database of format 1 that is closed again.
  Migration() {
    LmdbStore store(Database::open(directory_.path()));
    std::vector<Change> changes{PutEnvironment{environment()}};
    for (std::uint64_t i = 0; i < records; ++i) {
      changes.emplace_back(PutRecord{record(i)});
      changes.emplace_back(PutTrial{trial(i, 1)});
    }
    EXPECT_FALSE(store.commit(changes));
  }

  // Opens it with the program of a later version.
  std::shared_ptr<Database> open(unsigned format, std::span<const MigrationStep> steps) {
    DatabaseOptions options;
    options.format = format;
    options.steps = steps;
    return Database::open(directory_.path(), options);
  }
  std::string refusal(unsigned format, std::span<const MigrationStep> steps) {
    try {
      open(format, steps);
    } catch (const Error& error) {
      return error.what();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  // Every record as format 1 has it.
  void expect_untouched() {
    LmdbStore store(Database::open(directory_.path()));
    for (std::uint64_t i = 0; i < records; ++i) {
      const auto found = store.find(problem_key(i), problem_text(i), environment());
      ASSERT_TRUE(found);
      EXPECT_EQ(found->record, record(i));
      EXPECT_EQ(store.trials(problem_key(i), environment().id()).size(), 1u);
    }
    EXPECT_EQ(facts(directory_.path()).format, 1u);
  }

  const TemporaryDirectory directory_;
};

// Format 2 counts evaluations by the hundred and writes longer texts, format 3 has no trials.
std::optional<Bytes> to_second(Table table, ByteView key, ByteView value) {
  if (table != Table::records) return Bytes(value.begin(), value.end());
  Record changed = decode_record(key, value).value();
  changed.evaluations *= 100;
  changed.rivals.push_back(candidate(99, std::string(200, 'r')));
  return encode(key, changed);
}
std::optional<Bytes> to_third(Table table, ByteView, ByteView value) {
  if (table == Table::trials) return {};
  return Bytes(value.begin(), value.end());
}
const std::array<MigrationStep, 2> steps{{{1, to_second}, {2, to_third}}};

TEST_F(Migration, GoesThroughEveryStepOnce) {
  const std::string identity = facts(directory_.path()).identity;
  for (int opening = 0; opening < 2; ++opening) {
    LmdbStore store(open(3, steps));
    for (std::uint64_t i = 0; i < records; ++i) {
      const auto found = store.find(problem_key(i), problem_text(i), environment());
      ASSERT_TRUE(found);
      EXPECT_EQ(found->record.evaluations, 4000u) << "once, however often it is opened";
      EXPECT_EQ(found->record.rivals.size(), 3u);
      EXPECT_TRUE(store.trials(problem_key(i), environment().id()).empty());
    }
    EXPECT_FALSE(store.commit(std::vector<Change>{PutRecord{record(records)}}));
    EXPECT_TRUE(store.damage().empty());
    EXPECT_EQ(facts(directory_.path()).format, 3u);
    EXPECT_EQ(facts(directory_.path()).identity, identity);
  }
  EXPECT_THAT(refusal(1, {}), HasSubstr("has format 3, and this version of hone writes format 1"));
}

TEST_F(Migration, OneStepAtATimeGivesTheSame) {
  open(2, steps).reset();
  EXPECT_EQ(facts(directory_.path()).format, 2u);
  LmdbStore store(open(3, steps));
  EXPECT_EQ(store.find(problem_key(7), problem_text(7), environment())->record.evaluations, 4000u);
}

TEST_F(Migration, WithoutAStepItIsSaidSoAndNothingTouched) {
  EXPECT_THAT(refusal(3, std::span(steps).first(1)), HasSubstr("has format 2, from which this version knows no way"));
  expect_untouched();
}

TEST_F(Migration, AStepThatFailsHalfwayLeavesTheOldFormat) {
  int seen = 0;
  const std::array<MigrationStep, 1> failing{{{1, [&](Table table, ByteView key, ByteView value) {
                                                 if (table == Table::records && ++seen == records / 2) {
                                                   throw std::runtime_error("from a test");
                                                 }
                                                 return to_second(table, key, value);
                                               }}}};
  EXPECT_THAT(refusal(2, failing), HasSubstr("from a test"));
  EXPECT_EQ(seen, static_cast<int>(records / 2));
  expect_untouched();
}

TEST_F(Migration, AProcessThatDiesHalfwayLeavesTheOldFormat) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int seen = 0;
    const std::array<MigrationStep, 1> dying{{{1, [&](Table table, ByteView key, ByteView value) {
                                                 if (table == Table::records && ++seen == records / 2) ::_exit(9);
                                                 return to_second(table, key, value);
                                               }}}};
    open(2, dying);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 9);
  expect_untouched();
  EXPECT_EQ(facts(directory_.path()).format, 1u);
  LmdbStore store(open(2, steps));
  EXPECT_EQ(store.find(problem_key(7), problem_text(7), environment())->record.evaluations, 4000u);
}

TEST_F(Migration, WaitsUntilNobodyElseHasItOpen) {
  int go[2], ready[2];
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(ready), 0);
  char byte = 0;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto older = Database::open(directory_.path());
    if (::write(ready[1], "x", 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(4);
    ::_exit(0);
  }
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(refusal(3, steps), HasSubstr("others use it; end the programs of the older version"));
  EXPECT_EQ(facts(directory_.path()).format, 1u);
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  open(3, steps).reset();
  EXPECT_EQ(facts(directory_.path()).format, 3u);
}

TEST(MigrationSteps, LeadFromEveryOlderFormatToThisOne) {
  EXPECT_EQ(migration_steps().size(), format_version - 1);
  for (std::size_t i = 0; i < migration_steps().size(); ++i) EXPECT_EQ(migration_steps()[i].from, i + 1);
}

}  // namespace
}  // namespace hone::storage
