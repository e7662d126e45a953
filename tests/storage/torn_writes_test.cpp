// A power failure: what was written since the last flush reaches the disk in part and in any order.
//
// This program's own pwrite, writev and fdatasync stand before the C library's and keep a journal of what LMDB does to
// the data file. Each seed then makes the file as a failure at a random point would have left it.
// TORN_SEEDS sets the number of failures (300).
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <mutex>
#include <random>

#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "tests/storage/sample.hpp"

namespace {

struct Operation {
  std::uint64_t offset = 0;
  std::string bytes;
  bool flush = false;  // everything before it is on the disk
};

struct Journal {
  std::mutex mutex;
  ino_t file = 0;  // 0: nothing is recorded
  std::vector<Operation> operations;

  bool watches(int descriptor) const {
    struct stat status {};
    return file != 0 && ::fstat(descriptor, &status) == 0 && status.st_ino == file;
  }
  void write(int descriptor, std::uint64_t offset, const void* bytes, std::size_t size) {
    operations.push_back({offset, std::string(static_cast<const char*>(bytes), size), false});
    // LMDB writes its meta pages through a descriptor that flushes by itself.
    if (::fcntl(descriptor, F_GETFL) & O_DSYNC) operations.push_back({0, {}, true});
  }
};
Journal journal;

template <class Function>
Function* next_in_line(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static auto* const original = next_in_line<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  std::lock_guard lock(journal.mutex);
  const ssize_t written = original(descriptor, bytes, size, offset);
  if (written > 0 && journal.watches(descriptor)) {
    journal.write(descriptor, static_cast<std::uint64_t>(offset), bytes, static_cast<std::size_t>(written));
  }
  return written;
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  static auto* const original = next_in_line<ssize_t(int, const struct iovec*, int)>("writev");
  std::lock_guard lock(journal.mutex);
  const off_t start = ::lseek(descriptor, 0, SEEK_CUR);
  const ssize_t written = original(descriptor, parts, count);
  if (written > 0 && journal.watches(descriptor)) {
    auto offset = static_cast<std::uint64_t>(start);
    for (int i = 0; i < count; ++i) {
      journal.write(descriptor, offset, parts[i].iov_base, parts[i].iov_len);
      offset += parts[i].iov_len;
    }
  }
  return written;
}

int fdatasync(int descriptor) {
  static auto* const original = next_in_line<int(int)>("fdatasync");
  std::lock_guard lock(journal.mutex);
  const int result = original(descriptor);
  if (result == 0 && journal.watches(descriptor)) journal.operations.push_back({0, {}, true});
  return result;
}

}  // extern "C"

namespace hone::storage {
namespace {

using namespace test;

constexpr std::uint64_t commits = 120;
constexpr std::size_t sector = 512;  // what a disk writes as a whole

std::uint64_t seeds() {
  const char* text = std::getenv("TORN_SEEDS");
  return text == nullptr ? 300 : std::strtoull(text, nullptr, 10);
}

std::vector<Change> changes_of(std::uint64_t commit) {
  std::vector<Change> changes{PutRecord{record(commit)}, PutTrial{trial(commit % 7, commit)},
                              PutRecord{record(1000, environment(), commit)}};
  if (commit % 5 == 4) changes.push_back(Forget{problem_key(commit - 2), environment().id()});
  return changes;
}

bool forgotten(std::uint64_t commit, std::uint64_t last) { return commit % 5 == 2 && commit + 2 <= last; }

void apply(std::string& image, const Operation& operation, std::size_t from, std::size_t to) {
  if (image.size() < operation.offset + to) image.resize(operation.offset + to);
  std::memcpy(image.data() + operation.offset + from, operation.bytes.data() + from, to - from);
}

// The file after a failure when `count` operations had been given to the system.
std::string after_failure(const std::string& start, std::size_t count, std::mt19937_64& random) {
  std::string image = start;
  std::size_t flushed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (journal.operations[i].flush) flushed = i;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Operation& operation = journal.operations[i];
    for (std::size_t from = 0; from < operation.bytes.size(); from += sector) {
      if (i < flushed || random() % 2 == 0) {
        apply(image, operation, from, std::min(from + sector, operation.bytes.size()));
      }
    }
  }
  return image;
}

TEST(TornWrites, EveryAcknowledgedCommitSurvivesAndTheFileIsSound) {
  const TemporaryDirectory directory;
  const std::string data = directory.path() + "/data.mdb";
  std::vector<std::size_t> acknowledged;  // operations done when commit i returned
  std::string start;
  {
    LmdbStore store(Database::open(directory.path()));
    {
      std::ifstream file(data, std::ios::binary);
      start.assign(std::istreambuf_iterator<char>(file), {});
    }
    struct stat status {};
    ASSERT_EQ(::stat(data.c_str(), &status), 0);
    journal.file = status.st_ino;
    for (std::uint64_t commit = 0; commit < commits; ++commit) {
      ASSERT_FALSE(store.commit(changes_of(commit)));
      acknowledged.push_back(journal.operations.size());
    }
    journal.file = 0;
  }
  ASSERT_GE(journal.operations.size(), 3 * commits) << "the journal did not see LMDB's writes";
  const std::uint64_t count = seeds();
  std::uint64_t torn = 0;
  for (std::uint64_t seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::size_t point = random() % (journal.operations.size() + 1);
    std::filesystem::remove_all(directory.path());
    std::filesystem::create_directory(directory.path());
    const std::string image = after_failure(start, point, random);
    std::ofstream(data, std::ios::binary) << image;
    torn += point > 0 && point < journal.operations.size() && !journal.operations[point - 1].flush;

    const CheckReport report = check(directory.path());
    ASSERT_TRUE(report.damage.empty()) << report.damage[0].where << ": " << report.damage[0].what;
    LmdbStore store(Database::open(directory.path()));
    std::uint64_t survivors = 0;
    while (survivors < commits && acknowledged[survivors] <= point) ++survivors;
    const auto latest = store.find(problem_key(1000), problem_text(1000), environment());
    const std::uint64_t last = latest ? latest->record.evaluations - 40 : 0;
    ASSERT_TRUE(survivors == 0 || (latest && last + 1 >= survivors)) << "an acknowledged commit is lost";
    for (std::uint64_t commit = 0; latest && commit <= last; ++commit) {
      const auto found = store.find(problem_key(commit), problem_text(commit), environment());
      ASSERT_EQ(found.has_value(), !forgotten(commit, last)) << commit;
      ASSERT_TRUE(!found || found->record == record(commit)) << commit;
    }
    ASSERT_FALSE(store.commit(changes_of(commits))) << "it can be written on";
  }
  EXPECT_GT(torn, count / 10) << "the failures hit no unflushed writes";
  std::printf("%llu failures, %llu of them in unflushed writes\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(torn));
}

}  // namespace
}  // namespace hone::storage
