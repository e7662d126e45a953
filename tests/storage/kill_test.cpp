// A writer process is killed at random instants; what it was told to be stored must be there.
//
// KILL_ROUNDS sets the number of kills (50).
#include <gtest/gtest.h>
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

constexpr std::uint64_t problems = 200;

int rounds() {
  const char* text = std::getenv("KILL_ROUNDS");
  return text == nullptr ? 50 : std::atoi(text);
}

// What a writer tells through its pipe, in this order for each upgrade.
struct Message {
  enum Kind : std::uint32_t { attempting, attempted, acknowledged } kind;
  std::uint32_t problem;
  std::uint64_t version;
};

void tell(int pipe, const Message& message) {
  if (::write(pipe, &message, sizeof message) != sizeof message) ::_exit(4);
}

// Upgrades problems round and round, as an engine does, until it is killed.
[[noreturn]] void write_forever(const std::string& path, int pipe, std::uint64_t version) {
  LibraryOptions options;
  options.user_database = path;
  Library library(std::move(options));
  if (library.health().degraded) ::_exit(3);
  const std::uint64_t here = environment().id();
  for (;; ++version) {
    const auto number = static_cast<std::uint32_t>(version % problems);
    const Candidate running = candidate(number % 1000 + version).candidate;
    // Told before it begins: what was never told must not be quarantined.
    tell(pipe, {Message::attempting, number, version});
    if (library.begin_attempt(problem_key(number), problem_text(number), here, running)) ::_exit(5);
    if (library.end_attempt(problem_key(number), here, running)) ::_exit(5);
    tell(pipe, {Message::attempted, number, version});
    library.submit({PutEnvironment{environment()}, PutRecord{record(number, environment(), version)},
                    PutTrial{trial(number, version)}},
                   [pipe, number, version](std::error_code error) {
                     if (error) ::_exit(6);
                     tell(pipe, {Message::acknowledged, number, version});
                   });
    if (version % 8 == 0) library.flush(std::chrono::hours(1));
  }
}

TEST(Kill, NothingAcknowledgedIsLostAndNothingIsQuarantinedThatDidNotRun) {
  const TemporaryDirectory directory;
  std::mt19937 random(20261130);
  std::map<std::uint32_t, std::uint64_t> acknowledged;
  std::set<std::pair<std::uint32_t, std::uint64_t>> running;  // when some writer was killed
  std::uint64_t next = 1, upgrades = 0, quarantined = 0;
  const int kills = rounds();
  for (int round = 0; round < kills; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      write_forever(directory.path(), pipe[1], next);
    }
    ::close(pipe[1]);
    // Some are killed while they open the database, most in the middle of their work.
    ::usleep(random() % 60000);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    Message message{};
    std::optional<std::pair<std::uint32_t, std::uint64_t>> attempt;
    while (::read(pipe[0], &message, sizeof message) == sizeof message) {
      next = std::max(next, message.version + 1);
      if (message.kind == Message::attempting) attempt = {message.problem, message.version};
      if (message.kind == Message::attempted) attempt.reset();
      if (message.kind == Message::acknowledged) {
        acknowledged[message.problem] = message.version;
        ++upgrades;
      }
    }
    ::close(pipe[0]);
    if (attempt) running.insert(*attempt);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself with " << WEXITSTATUS(status);

    const CheckReport report = check(directory.path());
    ASSERT_TRUE(report.damage.empty()) << report.damage[0].where << ": " << report.damage[0].what;
    LmdbStore store(Database::open(directory.path()));
    for (const auto& [number, version] : acknowledged) {
      const auto found = store.find(problem_key(number), problem_text(number), environment());
      ASSERT_TRUE(found) << "problem " << number << " in round " << round;
      ASSERT_GE(found->record.evaluations - 40, version) << "problem " << number << " in round " << round;
    }
    for (const Quarantined& q : store.abandoned_attempts()) {
      ++quarantined;
      const bool ran = std::any_of(running.begin(), running.end(), [&](const auto& r) {
        return problem_key(r.first) == q.key && candidate(r.first % 1000 + r.second).candidate == q.candidate;
      });
      ASSERT_TRUE(ran) << to_string(q.candidate);
    }
    ASSERT_FALSE(store.forget_attempts());
  }
  ASSERT_GT(upgrades, static_cast<std::uint64_t>(kills)) << "the writers did no work";
  RecordProperty("kills", kills);
  std::printf("%d kills, %llu acknowledged upgrades, %llu attempts cut short\n", kills,
              static_cast<unsigned long long>(upgrades), static_cast<unsigned long long>(quarantined));
}

}  // namespace
}  // namespace hone::storage
