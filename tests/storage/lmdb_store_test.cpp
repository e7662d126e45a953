#include "storage/lmdb_store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <hone/error.hpp>
#include <thread>

#include "storage/read_only_store.hpp"
#include "storage/store_error.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;

class LmdbStoreTest : public testing::Test {
 protected:
  std::unique_ptr<LmdbStore> open(Retention retention = {}, std::size_t map_size = 1 << 20) {
    DatabaseOptions options;
    options.map_size = map_size;
    return std::make_unique<LmdbStore>(Database::open(directory.path(), options), retention);
  }
  static void commit(Store& store, std::vector<Change> changes) {
    const std::error_code error = store.commit(changes);
    ASSERT_FALSE(error) << error.message();
  }
  static std::optional<Found> find(Store& store, std::uint64_t number, const Environment& where = environment()) {
    return store.find(problem_key(number), problem_text(number), where);
  }

  TemporaryDirectory directory;
};

TEST_F(LmdbStoreTest, BinariesAreBoundedAndTheOldestGoFirst) {
  constexpr std::uint64_t bound = 256 << 10;
  constexpr std::size_t size = 10'000;
  constexpr int binaries = 200;
  auto store = open({.binary_bytes = bound});
  commit(*store, {PutRecord{record(1)}});
  const auto binary = [](int number) {
    Binary made;
    for (std::size_t i = 0; i < made.key.size(); ++i)
      made.key[i] = static_cast<std::uint8_t>(number * 37 + int(i) * 11);
    made.code.assign(size, static_cast<std::uint8_t>(number));
    made.date = std::chrono::sys_seconds(std::chrono::seconds(number));
    return made;
  };
  for (int i = 0; i < binaries; ++i) commit(*store, {PutBinary{binary(i)}});
  std::size_t kept = 0, sum = 0;
  for (int i = 0; i < binaries; ++i) {
    if (!store->binary(binary(i).key)) continue;
    ++kept;
    sum += static_cast<std::size_t>(i);
  }
  EXPECT_LE(kept * size, bound);
  EXPECT_GE(kept * size, bound / 2);
  EXPECT_GT(sum / kept, binaries * 3 / 4) << "it is mostly new ones that stay";
  EXPECT_EQ(store->binary(binary(binaries - 1).key), binary(binaries - 1));
  EXPECT_TRUE(find(*store, 1));
  // One that is larger than the bound stays alone.
  Binary large = binary(binaries);
  large.code.assign(2 * bound, 1);
  commit(*store, {PutBinary{large}});
  EXPECT_EQ(store->binary(large.key), large);
}

TEST_F(LmdbStoreTest, WhatWasCommittedIsThereAfterReopening) {
  Binary binary;
  binary.key[0] = 1;
  binary.code.assign(100'000, 7);
  {
    auto store = open();
    commit(*store, {PutEnvironment{environment()}, PutRecord{record(1)}, PutTrial{trial(1, 1)}, PutTrial{trial(1, 2)},
                    PutQuarantine{quarantined(1, 4)}, PutBinary{binary}});
  }
  auto store = open();
  const auto found = find(*store, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->record, record(1));
  EXPECT_EQ(found->match, EnvironmentMatch::same);
  EXPECT_EQ(store->trials(problem_key(1), environment().id()), (std::vector{trial(1, 1), trial(1, 2)}));
  EXPECT_EQ(store->quarantined(problem_key(1), environment().id()), std::vector{quarantined(1, 4)});
  EXPECT_EQ(store->binary(binary.key), binary);
  EXPECT_FALSE(find(*store, 2));
  EXPECT_TRUE(store->damage().empty());
}

TEST_F(LmdbStoreTest, ForgetRemovesOnlyThatProblemAndEnvironment) {
  auto store = open();
  commit(*store, {PutRecord{record(1)}, PutTrial{trial(1, 1)}, PutQuarantine{quarantined(1, 4)}, PutRecord{record(2)},
                  PutRecord{record(1, environment("0.2"))}});
  commit(*store, {Forget{problem_key(1), environment().id()}});
  EXPECT_TRUE(store->trials(problem_key(1), environment().id()).empty());
  EXPECT_TRUE(store->quarantined(problem_key(1), environment().id()).empty());
  EXPECT_TRUE(find(*store, 2));
  EXPECT_NE(find(*store, 1)->match, EnvironmentMatch::same);
}

TEST_F(LmdbStoreTest, TheNearestEnvironmentAnswers) {
  auto store = open();
  const Environment here = environment();
  Environment older = environment("0.3.9"), newer = environment("0.3.30");
  Environment architecture{"intel", "x86_64-avx512", "16 cores at 3 GHz", {}};
  Environment vendor{"intel", "x86_64-avx2", "4 cores", {}};
  Environment other{"arm", "neoverse", "64 cores", {}};
  std::vector<Change> changes;
  for (const Environment& e : {other, vendor, architecture, older, newer}) {
    changes.push_back(PutEnvironment{e});
    changes.push_back(PutRecord{record(1, e)});
  }
  commit(*store, changes);
  const auto expect = [&](EnvironmentMatch match, const Environment& where) {
    const auto found = find(*store, 1);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->match, match);
    EXPECT_EQ(found->record.environment, where.id());
    commit(*store, {Forget{problem_key(1), where.id()}});
  };
  expect(EnvironmentMatch::same_device, newer);
  expect(EnvironmentMatch::same_device, older);
  expect(EnvironmentMatch::same_architecture, architecture);
  expect(EnvironmentMatch::same_vendor, vendor);
  expect(EnvironmentMatch::other, other);
  EXPECT_FALSE(find(*store, 1));
}

TEST_F(LmdbStoreTest, ARecordOfAnotherProblemIsPassedOverAndReported) {
  auto store = open();
  Record wrong = record(1);
  wrong.problem = "gemm m=999";
  commit(*store, {PutRecord{wrong}});
  EXPECT_FALSE(find(*store, 1));
  const std::vector<Damage> damage = store->damage();
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_NE(damage[0].what.find("gemm m=999"), std::string::npos);
  EXPECT_FALSE(find(*store, 1));
  EXPECT_TRUE(store->damage().empty()) << "reported once";
}

TEST_F(LmdbStoreTest, AMeasurementIsNotOverwrittenWithHearsay) {
  auto store = open();
  Record predicted = record(1, environment(), 5);
  predicted.measured = false;
  commit(*store, {PutRecord{record(1)}});
  commit(*store, {PutRecord{predicted}});
  EXPECT_EQ(find(*store, 1)->record, record(1));
}

TEST_F(LmdbStoreTest, TheMapGrowsByItself) {
  auto store = open({}, 64 * 4096);
  for (std::uint64_t batch = 0; batch < 8; ++batch) {
    std::vector<Change> changes;
    for (std::uint64_t i = 0; i < 1000; ++i) changes.push_back(PutRecord{record(1000 * batch + i)});
    commit(*store, changes);
  }
  for (std::uint64_t i = 0; i < 8000; ++i) ASSERT_TRUE(find(*store, i)) << i;
}

TEST_F(LmdbStoreTest, TrialsAreBoundedPerProblemAndInAll) {
  auto store = open({.trials_per_problem = 4, .trials = 20});
  for (std::uint64_t run = 0; run < 10; ++run) commit(*store, {PutTrial{trial(1, run)}});
  const auto kept = store->trials(problem_key(1), environment().id());
  EXPECT_EQ(kept, (std::vector{trial(1, 6), trial(1, 7), trial(1, 8), trial(1, 9)}));
  std::size_t all = 0;
  for (std::uint64_t problem = 0; problem < 50; ++problem) commit(*store, {PutTrial{trial(problem, 0)}});
  for (std::uint64_t problem = 0; problem < 50; ++problem) {
    all += store->trials(problem_key(problem), environment().id()).size();
  }
  EXPECT_EQ(all, 20u);
}

TEST_F(LmdbStoreTest, StoresOfOneProcessShareTheDatabaseAndHearOfEachOther) {
  auto a = open();
  auto b = open();
  EXPECT_EQ(&a->database(), &b->database());
  EXPECT_TRUE(a->foreign_changes().keys.empty());
  commit(*b, {PutRecord{record(1)}, PutRecord{record(2)}});
  EXPECT_TRUE(b->foreign_changes().keys.empty()) << "not foreign";
  ForeignChanges changes = a->foreign_changes();
  EXPECT_FALSE(changes.everything);
  std::vector<ProblemKey> expected{problem_key(1), problem_key(2)};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(changes.keys, expected);
  EXPECT_TRUE(a->foreign_changes().keys.empty());
  for (std::uint64_t i = 0; i < 1100; ++i) commit(*b, {PutRecord{record(i % 7)}});
  EXPECT_TRUE(a->foreign_changes().everything) << "more than the log holds";
}

TEST_F(LmdbStoreTest, ClaimsExcludeOthersUntilTheyEnd) {
  auto a = open();
  auto b = open();
  using std::chrono::hours;
  const std::uint64_t here = environment().id();
  EXPECT_TRUE(a->claim(problem_key(1), here, hours(1)));
  EXPECT_TRUE(a->claim(problem_key(1), here, hours(1))) << "renewed";
  EXPECT_FALSE(b->claim(problem_key(1), here, hours(1)));
  EXPECT_TRUE(b->claim(problem_key(1), here + 1, hours(1))) << "another environment";
  b->release(problem_key(1), here);  // not the holder: nothing happens
  EXPECT_FALSE(b->claim(problem_key(1), here, hours(1)));
  a->release(problem_key(1), here);
  EXPECT_TRUE(b->claim(problem_key(1), here, std::chrono::nanoseconds(-1)));
  EXPECT_TRUE(a->claim(problem_key(1), here, hours(1))) << "the other's lease is over";
  a.reset();
  EXPECT_TRUE(b->claim(problem_key(1), here, hours(1))) << "the holder is gone";
}

TEST_F(LmdbStoreTest, AForkedChildIsRefused) {
  auto store = open();
  commit(*store, {PutRecord{record(1)}});
  const pid_t child = ::fork();
  if (child == 0) {
    bool refused = store->commit(std::vector<Change>{PutRecord{record(2)}}) == make_error_code(Errc::forked);
    refused = refused && !find(*store, 1) && !store->claim(problem_key(1), 1, std::chrono::hours(1));
    store.reset();
    // A store of its own is allowed, and the parent's stays whole.
    auto own = open();
    const bool works = find(*own, 1) && !own->commit(std::vector<Change>{PutRecord{record(3)}});
    own.reset();
    ::_exit(refused && works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  commit(*store, {PutRecord{record(4)}});
  EXPECT_TRUE(find(*store, 3));
  EXPECT_TRUE(find(*store, 4));
  EXPECT_EQ(store->foreign_changes().keys, std::vector{problem_key(3)});
}

TEST_F(LmdbStoreTest, AnAttemptOfADeadProcessIsFoundAndOfALivingOneIsNot) {
  int ready[2], finish[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(finish), 0);
  const Candidate crashing = candidate(1).candidate, fine = candidate(2).candidate;
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = open();
    const std::uint64_t here = environment().id();
    const bool failed = store->begin_attempt(problem_key(1), problem_text(1), here, fine) ||
                        store->end_attempt(problem_key(1), here, fine) ||
                        store->begin_attempt(problem_key(1), problem_text(1), here, crashing) ||
                        !store->claim(problem_key(1), here, std::chrono::hours(1));
    char byte = failed ? 1 : 0;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(2);
    if (::read(finish[0], &byte, 1) != 1) ::_exit(3);
    ::_exit(0);  // without a word: like a crash
  }
  char byte = 1;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 0);
  {
    auto store = open();
    EXPECT_TRUE(store->abandoned_attempts().empty()) << "its process lives";
    EXPECT_FALSE(store->claim(problem_key(1), environment().id(), std::chrono::hours(1)));
  }
  ASSERT_EQ(::write(finish[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  auto store = open();
  const std::vector<Quarantined> attempts = store->abandoned_attempts();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].candidate, crashing);
  EXPECT_EQ(attempts[0].problem, problem_text(1));
  EXPECT_TRUE(store->claim(problem_key(1), environment().id(), std::chrono::hours(1))) << "a dead one's claim ends";
  EXPECT_FALSE(store->forget_attempts());
  store.reset();
  EXPECT_TRUE(open()->abandoned_attempts().empty());
}

TEST_F(LmdbStoreTest, ReadOnlyStoresReadTheSameAndTouchNothing) {
  {
    auto store = open();
    commit(*store, {PutEnvironment{environment()}, PutRecord{record(1)}});
  }
  const auto files = [&] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) ++count;
    return count;
  };
  const std::size_t before = files();
  const auto written = std::filesystem::last_write_time(directory.path() + "/data.mdb");
  ReadOnlyStore whole(directory.path()), file(directory.path() + "/data.mdb");
  EXPECT_EQ(find(whole, 1)->record, record(1));
  EXPECT_EQ(find(file, 1)->record, record(1));
  EXPECT_TRUE(whole.commit(std::vector<Change>{PutRecord{record(2)}}));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(std::filesystem::last_write_time(directory.path() + "/data.mdb"), written);
}

TEST_F(LmdbStoreTest, ReadersAndAWriterWorkAtTheSameTime) {
  auto store = open({}, 64 * 4096);
  commit(*store, {PutRecord{record(0)}});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto found = find(*store, 0);
        if (!found || found->record.evaluations != found->record.best.workspace / 64 + 40) ++wrong;
      }
    });
  }
  for (std::uint64_t version = 1; version < 200; ++version) {
    std::vector<Change> changes{PutRecord{record(0, environment(), version)}};
    for (std::uint64_t i = 0; i < 20; ++i) changes.push_back(PutRecord{record(20 * version + i)});
    commit(*store, changes);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(store->damage().empty());
}

}  // namespace
}  // namespace hone::storage
