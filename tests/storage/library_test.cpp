#include "storage/library.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <hone/error.hpp>

#include "storage/database.hpp"
#include "storage/lmdb_store.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;
using std::chrono::hours;

class LibraryTest : public testing::Test {
 protected:
  std::unique_ptr<Library> open(const std::string& user, std::vector<std::string> systems = {}) {
    LibraryOptions options;
    options.user_database = user;
    options.system_databases = std::move(systems);
    options.retry_interval = hours(1);  // tests retry by hand
    options.on_health = [this](const StoreHealth& health) {
      std::lock_guard lock(mutex);
      reports.push_back(health);
    };
    return std::make_unique<Library>(std::move(options));
  }
  static std::error_code submit(Library& library, std::vector<Change> changes) {
    std::promise<std::error_code> done;
    library.submit(std::move(changes), [&](std::error_code error) { done.set_value(error); });
    return done.get_future().get();
  }
  static bool knows(Library& library, std::uint64_t number) {
    const auto found = library.find(problem_key(number), problem_text(number), environment());
    return found && found->match == EnvironmentMatch::same && found->record == record(number);
  }
  std::vector<StoreHealth> reported(Library& library) {
    EXPECT_TRUE(library.flush(hours(1)));
    EXPECT_TRUE(library.flush(hours(1)));  // a report is posted behind its cause
    std::lock_guard lock(mutex);
    return std::exchange(reports, {});
  }
  static bool stored(const std::string& path, std::uint64_t number) {
    LmdbStore store(Database::open(path));
    return store.find(problem_key(number), problem_text(number), environment()).has_value();
  }

  TemporaryDirectory directory;
  std::mutex mutex;
  std::vector<StoreHealth> reports;
};

TEST_F(LibraryTest, WithoutADatabaseItRemembersInMemoryAndIsWell) {
  auto library = open("");
  EXPECT_FALSE(submit(*library, {PutRecord{record(1)}, PutTrial{trial(1, 1)}, PutQuarantine{quarantined(1, 2)}}));
  EXPECT_TRUE(knows(*library, 1));
  EXPECT_EQ(library->trials(problem_key(1), environment().id()).size(), 1u);
  EXPECT_EQ(library->quarantined(problem_key(1), environment().id()).size(), 1u);
  EXPECT_TRUE(library->claim(problem_key(1), 1, hours(1)));
  EXPECT_FALSE(library->begin_attempt(problem_key(1), problem_text(1), 1, candidate(1).candidate));
  DeviceLease lease = library->lease_device("host");
  EXPECT_TRUE(lease);
  EXPECT_FALSE(library->lease_device("host"));
  lease = {};
  EXPECT_TRUE(library->lease_device("host"));
  EXPECT_FALSE(library->health().degraded);
  EXPECT_TRUE(reported(*library).empty());
}

TEST_F(LibraryTest, WhatWasAcknowledgedIsDurable) {
  const std::string path = directory.path("missing/parent/db");
  auto library = open(path);
  EXPECT_FALSE(submit(*library, {PutEnvironment{environment()}, PutRecord{record(1)}}));
  EXPECT_TRUE(stored(path, 1));
  library.reset();
  EXPECT_TRUE(knows(*open(path), 1));
  EXPECT_TRUE(reports.empty());
}

TEST_F(LibraryTest, TheDestructorCommitsWhatIsPending) {
  auto library = open(directory.path());
  std::atomic<int> done{0};
  for (std::uint64_t i = 0; i < 100; ++i) {
    library->submit({PutRecord{record(i)}}, [&](std::error_code error) { done += error ? 1000 : 1; });
  }
  library.reset();
  EXPECT_EQ(done, 100);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(stored(directory.path(), i));
}

TEST_F(LibraryTest, SystemDatabasesAnswerInTheirOrderAndABadOneIsReported) {
  for (const std::string name : {"first", "second"}) {
    auto library = open(directory.path(name));
    if (name == "first") {
      submit(*library, {PutRecord{record(1)}});
    } else {
      submit(*library, {PutRecord{record(1, environment(), 5)}, PutRecord{record(2)}});
    }
  }
  const std::string missing = directory.path("missing.hone");
  auto library = open("", {missing, directory.path("first"), directory.path("second") + "/data.mdb"});
  EXPECT_EQ(library->find_system(problem_key(1), problem_text(1), environment())->record, record(1));
  EXPECT_EQ(library->find_system(problem_key(2), problem_text(2), environment())->record, record(2));
  EXPECT_FALSE(library->find_system(problem_key(3), problem_text(3), environment()));
  EXPECT_FALSE(library->find(problem_key(1), problem_text(1), environment())) << "not the user's";
  const auto bad = reported(*library);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].path, missing);
  EXPECT_NE(bad[0].remedy, "");
}

TEST_F(LibraryTest, AVanishedDirectoryDegradesAndIsWrittenAnewWhenTriedAgain) {
  const std::string path = directory.path();
  auto library = open(path);
  EXPECT_FALSE(submit(*library, {PutRecord{record(1)}}));
  std::filesystem::remove_all(path);
  EXPECT_EQ(submit(*library, {PutRecord{record(2)}}), make_error_code(Errc::store_unavailable));
  EXPECT_EQ(submit(*library, {PutRecord{record(3)}}), make_error_code(Errc::store_unavailable));
  EXPECT_TRUE(knows(*library, 2));
  auto events = reported(*library);
  ASSERT_EQ(events.size(), 1u) << "one event for one trouble";
  EXPECT_TRUE(events[0].degraded);
  EXPECT_NE(events[0].cause.find(path), std::string::npos);
  library->retry();
  events = reported(*library);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].degraded);
  EXPECT_TRUE(stored(path, 2));
  EXPECT_TRUE(stored(path, 3));
  EXPECT_FALSE(submit(*library, {PutRecord{record(4)}}));
  EXPECT_TRUE(stored(path, 4));
}

TEST_F(LibraryTest, ADirectoryThatIsNotADatabaseIsLeftAlone) {
  std::filesystem::create_directory(directory.path());
  std::ofstream(directory.path() + "/letter.txt") << "dear";
  auto library = open(directory.path());
  EXPECT_TRUE(submit(*library, {PutRecord{record(1)}}));
  EXPECT_TRUE(knows(*library, 1));
  const auto events = reported(*library);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].cause.find("is not a hone database"), std::string::npos) << events[0].cause;
  library.reset();
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) ++files;
  EXPECT_EQ(files, 1u);
}

// A file system that one may not write to; root may write through permissions, so a mount is needed.
class MountedTest : public LibraryTest {
 protected:
  void mount(unsigned long flags, const char* options) {
    std::filesystem::create_directory(mounted);
    if (::mount("hone_test", mounted.c_str(), "tmpfs", flags, options) != 0) {
      GTEST_SKIP() << "mounting a tmpfs is not allowed here";
    }
    is_mounted = true;
  }
  void TearDown() override {
    if (is_mounted) ::umount2(mounted.c_str(), MNT_DETACH);
  }
  const std::string mounted = directory.path("mounted");
  bool is_mounted = false;
};

TEST_F(MountedTest, AFullDiskDegradesAndIsWrittenWhenSpaceReturns) {
  ASSERT_NO_FATAL_FAILURE(mount(0, "size=2m"));
  if (!is_mounted) return;
  const std::string path = mounted + "/db";
  auto library = open(path);
  ASSERT_FALSE(submit(*library, {PutRecord{record(0)}}));
  const std::string ballast = mounted + "/ballast";
  {
    std::ofstream file(ballast);
    for (int i = 0; i < 4096 && file; ++i) file << std::string(4096, 'x') << std::flush;
  }
  std::uint64_t number = 1;
  std::error_code error;
  while (number < 500 && !(error = submit(*library, {PutRecord{record(number)}}))) ++number;
  EXPECT_EQ(error, std::errc::no_space_on_device) << error.message();
  submit(*library, {PutRecord{record(number + 1)}});
  EXPECT_TRUE(knows(*library, number));
  EXPECT_TRUE(knows(*library, number + 1));
  EXPECT_TRUE(knows(*library, 0)) << "what is stored still answers";
  auto events = reported(*library);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].remedy.find("free some space"), std::string::npos);
  library->retry();
  EXPECT_TRUE(reported(*library).empty()) << "still full: nothing new to say";
  std::filesystem::remove(ballast);
  library->retry();
  events = reported(*library);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].degraded);
  EXPECT_TRUE(stored(path, number));
  EXPECT_TRUE(stored(path, number + 1));
}

TEST_F(MountedTest, ADiskThatIsFullFromTheStartDegrades) {
  ASSERT_NO_FATAL_FAILURE(mount(0, "size=32k"));
  if (!is_mounted) return;
  auto library = open(mounted + "/db");
  EXPECT_TRUE(submit(*library, {PutRecord{record(1)}}));
  EXPECT_TRUE(knows(*library, 1));
  EXPECT_EQ(reported(*library).size(), 1u);
}

TEST_F(MountedTest, AReadOnlyDatabaseAnswersAndNewThingsStayInMemory) {
  ASSERT_NO_FATAL_FAILURE(mount(0, "size=4m"));
  if (!is_mounted) return;
  const std::string path = mounted + "/db";
  submit(*open(path), {PutRecord{record(1)}});
  ASSERT_EQ(::mount("hone_test", mounted.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=4m"), 0);
  auto library = open(path);
  EXPECT_TRUE(knows(*library, 1));
  EXPECT_TRUE(submit(*library, {PutRecord{record(2)}}));
  EXPECT_TRUE(knows(*library, 2));
  auto events = reported(*library);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].remedy.find("writable"), std::string::npos) << events[0].remedy;
  ASSERT_EQ(::mount("hone_test", mounted.c_str(), "tmpfs", MS_REMOUNT, "size=4m"), 0);
  library->retry();
  EXPECT_FALSE(library->health().degraded);
  EXPECT_TRUE(stored(path, 2));
}

TEST_F(LibraryTest, AnUnwritableParentDegrades) {
  if (::geteuid() == 0) {
    // Root may write everywhere but under a file.
    std::ofstream(directory.path("file")) << "x";
  } else {
    std::filesystem::create_directory(directory.path("file"));
    ::chmod(directory.path("file").c_str(), 0555);
  }
  auto library = open(directory.path("file/db"));
  EXPECT_TRUE(submit(*library, {PutRecord{record(1)}}));
  EXPECT_TRUE(knows(*library, 1));
  EXPECT_EQ(reported(*library).size(), 1u);
}

TEST_F(LibraryTest, AttemptsOfADeadProcessAreQuarantinedAtTheNextOpening) {
  const Candidate crashing = candidate(1).candidate;
  const pid_t child = ::fork();
  if (child == 0) {
    auto library = open(directory.path());
    library->begin_attempt(problem_key(1), problem_text(1), environment().id(), crashing);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  {
    auto library = open(directory.path());
    const auto found = library->quarantined(problem_key(1), environment().id());
    ASSERT_EQ(found.size(), 1u) << "known at once";
    EXPECT_EQ(found[0].candidate, crashing);
    library->flush(hours(1));
  }
  LmdbStore store(Database::open(directory.path()));
  EXPECT_EQ(store.quarantined(problem_key(1), environment().id()).size(), 1u) << "stored";
  EXPECT_TRUE(store.abandoned_attempts().empty());
}

TEST_F(LibraryTest, ForgettingWhileDegradedHidesWhatIsStored) {
  const std::string path = directory.path();
  auto library = open(path);
  submit(*library, {PutRecord{record(1)}, PutRecord{record(2)}});
  // Another file system object takes the database's place: it cannot be written any more, but still read.
  std::filesystem::rename(path, path + ".moved");
  EXPECT_TRUE(submit(*library, {Forget{problem_key(1), environment().id()}}));
  EXPECT_FALSE(library->find(problem_key(1), problem_text(1), environment()));
  EXPECT_TRUE(knows(*library, 2));
  std::filesystem::rename(path + ".moved", path);
  library->retry();
  EXPECT_FALSE(library->health().degraded);
  EXPECT_FALSE(stored(path, 1));
  EXPECT_TRUE(stored(path, 2));
}

TEST_F(LibraryTest, AForkedChildIsRefusedAndItsDestructorHarmsNobody) {
  auto library = open(directory.path());
  submit(*library, {PutRecord{record(1)}});
  const pid_t child = ::fork();
  if (child == 0) {
    std::error_code result;
    library->submit({PutRecord{record(2)}}, [&](std::error_code error) { result = error; });
    const bool refused = result == make_error_code(Errc::forked) && !knows(*library, 1) &&
                         !library->claim(problem_key(1), 1, hours(1)) && !library->lease_device("host") &&
                         library->health().error == make_error_code(Errc::forked);
    library.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(submit(*library, {PutRecord{record(3)}}));
  EXPECT_TRUE(knows(*library, 1));
}

TEST_F(LibraryTest, ADeviceIsLeasedToOneProcessAtATime) {
  auto library = open(directory.path());
  auto other = open(directory.path());
  DeviceLease lease = library->lease_device("host");
  ASSERT_TRUE(lease);
  EXPECT_FALSE(other->lease_device("host"));
  EXPECT_TRUE(other->lease_device("hip:0"));
  const auto child_gets_it = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      auto own = open(directory.path());
      ::_exit(own->lease_device("host") ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
  };
  EXPECT_FALSE(child_gets_it());
  lease = {};
  EXPECT_TRUE(child_gets_it());
  EXPECT_TRUE(other->lease_device("host"));
}

}  // namespace
}  // namespace hone::storage
