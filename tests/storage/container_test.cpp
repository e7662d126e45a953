// Containers share a database: each has process numbers of its own, and all that matters here have number 1.
//
// Needs the right to make process number spaces (root); is skipped without.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "storage/library.hpp"
#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;

constexpr std::uint64_t problems = 3;

// What a container tells through its pipe.
struct Message {
  std::uint64_t problem = 0;  // upgraded
};

// Runs `work` as process 1 of a container of its own. Returns the number of the process that waits for it, whose status
// is the container's; it ends the container after `lifetime` when that is not zero.
template <class Work>
pid_t start_container(Work work, useconds_t lifetime = 0) {
  const pid_t keeper = ::fork();
  if (keeper != 0) return keeper;
  if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
  const pid_t inside = ::fork();
  if (inside == 0) {
    if (::getpid() != 1) ::_exit(78);
    work();
    ::_exit(0);
  }
  if (lifetime > 0) {
    ::usleep(lifetime);
    ::kill(inside, SIGKILL);
  }
  int status = 0;
  ::waitpid(inside, &status, 0);
  ::_exit(WIFSIGNALED(status) ? 9 : WEXITSTATUS(status));
}

int status_of(pid_t keeper) {
  int status = 0;
  ::waitpid(keeper, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Reads, adds one and writes, under a claim, again and again.
void upgrade(const std::string& path, int pipe, int upgrades, unsigned seed) {
  LibraryOptions options;
  options.user_database = path;
  Library library(std::move(options));
  if (library.health().degraded) ::_exit(3);
  std::mt19937 random(seed);
  const Environment here = environment();
  while (upgrades > 0) {
    const std::uint64_t number = random() % problems;
    if (!library.claim(problem_key(number), here.id(), std::chrono::hours(1))) continue;
    const auto found = library.find(problem_key(number), problem_text(number), here);
    if (!found) ::_exit(4);
    Record next = found->record;
    if (next.best.workspace != next.evaluations) ::_exit(5);  // half a record
    next.best.workspace = ++next.evaluations;
    const Candidate running = candidate(next.evaluations).candidate;
    if (library.begin_attempt(problem_key(number), problem_text(number), here.id(), running)) ::_exit(6);
    if (library.end_attempt(problem_key(number), here.id(), running)) ::_exit(6);
    std::error_code error;
    library.submit({PutRecord{next}}, [&](std::error_code e) { error = e; });
    if (!library.flush(std::chrono::minutes(1)) || error) ::_exit(7);
    const Message message{number};
    if (::write(pipe, &message, sizeof message) != sizeof message) ::_exit(8);
    library.release(problem_key(number), here.id());
    if (!library.damage().empty()) ::_exit(10);
    --upgrades;
  }
}

class Containers : public testing::Test {
 protected:
  void SetUp() override {
    if (const int status = status_of(start_container([] {})); status == 77) {
      GTEST_SKIP() << "this user may not make process number spaces";
    } else {
      ASSERT_EQ(status, 0);
    }
    LmdbStore store(Database::open(directory_.path()));
    std::vector<Change> changes{PutEnvironment{environment()}};
    for (std::uint64_t i = 0; i < problems; ++i) {
      Record start = record(i);
      start.evaluations = start.best.workspace = 0;
      changes.push_back(PutRecord{start});
    }
    ASSERT_FALSE(store.commit(changes));
    ASSERT_EQ(::pipe(pipe_), 0);
  }
  // What was told by the containers, when all have ended.
  std::vector<std::uint64_t> told() {
    ::close(pipe_[1]);
    std::vector<std::uint64_t> upgrades(problems);
    for (Message message; ::read(pipe_[0], &message, sizeof message) == sizeof message;) ++upgrades[message.problem];
    ::close(pipe_[0]);
    return upgrades;
  }

  const TemporaryDirectory directory_;
  int pipe_[2] = {};
};

TEST_F(Containers, OfEqualProcessNumbersLoseNoUpdate) {
  std::vector<pid_t> keepers;
  for (unsigned i = 0; i < 3; ++i) {
    keepers.push_back(start_container([&, i] { upgrade(directory_.path(), pipe_[1], 60, i); }));
  }
  for (const pid_t keeper : keepers) EXPECT_EQ(status_of(keeper), 0);
  const std::vector<std::uint64_t> upgrades = told();
  LmdbStore store(Database::open(directory_.path()));
  for (std::uint64_t i = 0; i < problems; ++i) {
    EXPECT_EQ(store.find(problem_key(i), problem_text(i), environment())->record.evaluations, upgrades[i]);
  }
  EXPECT_TRUE(check(directory_.path()).damage.empty());
  EXPECT_TRUE(store.abandoned_attempts().empty());
}

// The one is killed again and again, also while it waits for its turn to write; the other goes on undisturbed.
TEST_F(Containers, OneThatIsKilledHarmsNoOther) {
  const pid_t living = start_container([&] { upgrade(directory_.path(), pipe_[1], 150, 1); });
  std::mt19937 random(7);
  int killed = 0;
  for (int round = 0; round < 15; ++round) {
    const auto lifetime = static_cast<useconds_t>(5000 + random() % 40000);
    const pid_t dying = start_container(
        [&, round] { upgrade(directory_.path(), pipe_[1], 1'000'000, 100 + unsigned(round)); }, lifetime);
    const int status = status_of(dying);
    EXPECT_EQ(status, 9);
    killed += status == 9;
  }
  EXPECT_EQ(status_of(living), 0);
  const std::vector<std::uint64_t> upgrades = told();
  LmdbStore store(Database::open(directory_.path()));
  for (std::uint64_t i = 0; i < problems; ++i) {
    const std::uint64_t stored = store.find(problem_key(i), problem_text(i), environment())->record.evaluations;
    // A killed one may have stored what it could not tell any more.
    EXPECT_GE(stored, upgrades[i]);
    EXPECT_LE(stored, upgrades[i] + static_cast<std::uint64_t>(killed));
  }
  EXPECT_TRUE(check(directory_.path()).damage.empty());
}

// Attempts of the dead one are found although a living process has its number.
TEST_F(Containers, ADeadOnesAttemptIsFoundBesideALivingOneOfItsNumber) {
  int go[2], ready[2];
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(ready), 0);
  char byte = 0;
  const pid_t living = start_container([&] {
    LmdbStore store(Database::open(directory_.path()));
    if (store.begin_attempt(problem_key(0), problem_text(0), 1, candidate(1).candidate)) ::_exit(3);
    if (::write(ready[1], "x", 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(4);
  });
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const pid_t dead = start_container([&] {
    LmdbStore store(Database::open(directory_.path()));
    ::_exit(store.begin_attempt(problem_key(0), problem_text(0), 1, candidate(2).candidate) ? 3 : 0);
  });
  EXPECT_EQ(status_of(dead), 0);
  {
    LmdbStore store(Database::open(directory_.path()));
    const auto attempts = store.abandoned_attempts();
    ASSERT_EQ(attempts.size(), 1u);
    EXPECT_EQ(attempts[0].candidate, candidate(2).candidate);
  }
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  EXPECT_EQ(status_of(living), 0);
  told();
}

}  // namespace
}  // namespace hone::storage
