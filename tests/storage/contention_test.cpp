// Eight processes upgrade the same problems of one database: no update is lost, nothing locks up, readers see only
// whole records.
//
// CONTENTION_SECONDS sets how long they do it (2).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;
using std::chrono::steady_clock;

constexpr int processes = 8;
constexpr std::uint64_t problems = 5;

struct Tally {
  std::uint64_t upgrades[problems] = {};
  std::uint64_t refused_claims = 0;
  std::uint64_t heard = 0;  // changes by others
};

// Reads, adds one and writes, under a claim: without mutual exclusion updates would be lost.
Tally work(const std::string& path, unsigned seed, steady_clock::time_point end) {
  LmdbStore store(Database::open(path));
  Tally tally;
  std::mt19937 random(seed);
  const Environment here = environment();
  while (steady_clock::now() < end) {
    const std::uint64_t number = random() % problems;
    if (!store.claim(problem_key(number), here.id(), std::chrono::hours(1))) {
      ++tally.refused_claims;
      std::this_thread::yield();
      continue;
    }
    const auto found = store.find(problem_key(number), problem_text(number), here);
    if (!found) std::_Exit(3);
    Record next = found->record;
    if (next.best.workspace != next.evaluations) std::_Exit(4);  // half a record
    next.best.workspace = ++next.evaluations;
    if (store.commit(std::vector<Change>{PutRecord{next}})) std::_Exit(5);
    store.release(problem_key(number), here.id());
    ++tally.upgrades[number];
    tally.heard += store.foreign_changes().keys.size();
  }
  return tally;
}

TEST(Contention, EightProcessesLoseNoUpdate) {
  const char* text = std::getenv("CONTENTION_SECONDS");
  const auto duration = std::chrono::seconds(text == nullptr ? 2 : std::atoi(text));
  const TemporaryDirectory directory;
  {
    LmdbStore store(Database::open(directory.path()));
    std::vector<Change> changes;
    for (std::uint64_t i = 0; i < problems; ++i) {
      Record start = record(i);
      start.evaluations = start.best.workspace = 0;
      changes.push_back(PutRecord{start});
    }
    ASSERT_FALSE(store.commit(changes));
  }
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const auto end = steady_clock::now() + duration;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Tally tally = work(directory.path(), i + 1, end);
      std::_Exit(::write(pipe[1], &tally, sizeof tally) == sizeof tally ? 0 : 6);
    }
    children.push_back(child);
  }
  ::close(pipe[1]);
  Tally all, one;
  while (::read(pipe[0], &one, sizeof one) == sizeof one) {
    for (std::uint64_t i = 0; i < problems; ++i) all.upgrades[i] += one.upgrades[i];
    all.refused_claims += one.refused_claims;
    all.heard += one.heard;
  }
  ::close(pipe[0]);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  LmdbStore store(Database::open(directory.path()));
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < problems; ++i) {
    const auto found = store.find(problem_key(i), problem_text(i), environment());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->record.evaluations, all.upgrades[i]) << "lost updates of problem " << i;
    total += all.upgrades[i];
  }
  EXPECT_GT(total, 0u);
  EXPECT_GT(all.heard, 0u) << "nobody heard of the others";
  EXPECT_TRUE(check(directory.path()).damage.empty());
  std::printf("%llu upgrades by %d processes, %llu claims refused, %llu changes heard of\n",
              static_cast<unsigned long long>(total), processes, static_cast<unsigned long long>(all.refused_claims),
              static_cast<unsigned long long>(all.heard));
}

}  // namespace
}  // namespace hone::storage
