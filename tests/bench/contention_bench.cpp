// What `find` on a hit takes while eight processes write the database, 30 seconds in all.
//
//   contention_bench [--directory PATH]
//
// Eight busy processes on few cores slow anything down. What sharing the database adds is the ratio to the same finds
// beside the same eight writers on another database, taken in turns of a second; a quiet machine is a third turn.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <hone/gemm.hpp>
#include <hone/hone.hpp>
#include <random>
#include <string>
#include <vector>

#include "storage/library.hpp"
#include "storage/lmdb_store.hpp"
#include "tests/storage/sample.hpp"

namespace {

using namespace hone;
using namespace hone::storage;
using namespace hone::storage::test;
using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr int writers = 8;
constexpr int rounds = 30;  // a second of each kind
constexpr std::uint64_t problems = 64;

void fill(const std::string& path) {
  LmdbStore store(Database::open(path));
  std::vector<Change> changes{PutEnvironment{environment()}};
  for (std::uint64_t i = 0; i < problems; ++i) changes.emplace_back(PutRecord{record(i)});
  if (store.commit(changes)) std::_Exit(1);
}

// Which group of writers works; in memory that all processes share.
std::atomic<int>& active_group() {
  static auto* memory = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return *memory;
}
constexpr int nobody = 0, done = -1;

[[noreturn]] void write_in_turns(const std::string& path, int group, unsigned seed) {
  {
    LmdbStore store(Database::open(path));
    std::mt19937_64 random(seed);
    for (std::uint64_t version = 1; active_group() != done; ++version) {
      while (active_group() != group && active_group() != done) ::usleep(1000);
      const std::uint64_t number = random() % problems;
      const std::vector<Change> changes{PutRecord{record(number, environment(), version)},
                                        PutTrial{trial(number, version)}};
      if (store.commit(changes)) std::_Exit(1);
    }
  }
  std::_Exit(0);
}

// Before this process has threads or a database open: such a one is not to be forked.
std::vector<pid_t> start_writers(const std::string& path, int group) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < writers; ++i) {
    const pid_t child = ::fork();
    if (child == 0) write_in_turns(path, group, 100 * static_cast<unsigned>(group) + i);
    children.push_back(child);
  }
  return children;
}

// Counts of whole nanoseconds.
class Latencies {
 public:
  void add(Nanoseconds time) {
    ++counts_[std::min(static_cast<std::size_t>(time.count()), counts_.size() - 1)];
    ++count_;
  }
  std::uint64_t count() const { return count_; }
  double at(double share) const {
    auto left = static_cast<std::uint64_t>(share * static_cast<double>(count_));
    std::size_t nanoseconds = 0;
    while (nanoseconds + 1 < counts_.size() && left >= counts_[nanoseconds]) left -= counts_[nanoseconds++];
    return static_cast<double>(nanoseconds);
  }

 private:
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(1'000'000);  // the last: that or more
  std::uint64_t count_ = 0;
};

template <class Find>
void measure(Latencies& latencies, std::chrono::milliseconds duration, const Find& find) {
  std::uint64_t number = 0;
  const auto end = Clock::now() + duration;
  for (auto begin = Clock::now(); begin < end;) {
    if (!find(number++ % problems)) std::_Exit(2);
    const auto now = Clock::now();
    latencies.add(now - begin);
    begin = now;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string where = std::filesystem::temp_directory_path();
  if (argc == 3 && std::string(argv[1]) == "--directory") where = argv[2];
  std::string directory = where + "/hone_contention_bench_XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    fmt::print(stderr, "no directory can be made in {}\n", where);
    return 1;
  }
  const std::string shared = directory + "/shared", other = directory + "/other";
  fill(shared);
  fill(other);
  {
    active_group() = nobody;
    std::vector<pid_t> children = start_writers(other, 1);
    for (const pid_t child : start_writers(shared, 2)) children.push_back(child);
    LibraryOptions library_options;
    library_options.user_database = shared;
    Library library(library_options);
    Engine engine({.database = shared, .policy = Policy::frozen()});
    engine.add(host_device());
    engine.add(gemm::operation());
    const Environment here = environment();
    std::vector<ProblemKey> keys;
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; i < problems; ++i) {
      keys.push_back(problem_key(i));
      texts.push_back(problem_text(i));
    }
    const auto find_stored = [&](std::uint64_t i) { return library.find(keys[i], texts[i], here).has_value(); };
    const auto find = [&](std::uint64_t i) {
      return static_cast<bool>(engine.find(gemm::Problem{.m = 1 + static_cast<std::int64_t>(i), .n = 64, .k = 64}));
    };
    constexpr std::array<const char*, 3> names{"nobody", "eight writers of another database",
                                               "eight writers of this database"};
    std::array<Latencies, 3> engine_times, library_times;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t turn = 0; turn < names.size(); ++turn) {
        const std::size_t kind = (turn + static_cast<std::size_t>(round)) % names.size();
        active_group() = static_cast<int>(kind);
        ::usleep(20'000);
        measure(engine_times[kind], std::chrono::milliseconds(500), find);
        measure(library_times[kind], std::chrono::milliseconds(500), find_stored);
      }
    }
    const auto print = [&](const char* what, const std::array<Latencies, 3>& times) {
      fmt::print("{}\n", what);
      for (std::size_t kind = 0; kind < names.size(); ++kind) {
        fmt::print("  beside {}: median {:.0f} ns, p99 {:.0f} ns, {} finds\n", names[kind], times[kind].at(0.5),
                   times[kind].at(0.99), times[kind].count());
      }
      fmt::print(
          "  p99 beside writers of this database over p99 beside writers of another: {:.2f}; over a quiet machine: "
          "{:.2f}\n",
          times[2].at(0.99) / times[1].at(0.99), times[2].at(0.99) / times[0].at(0.99));
    };
    print("Engine::find on a problem seen before", engine_times);
    print("Library::find of a stored record", library_times);
    active_group() = done;
    int failed = 0;
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      failed += status != 0;
    }
    fmt::print("{} writers failed\n", failed);
  }
  std::filesystem::remove_all(directory);
  return 0;
}
