// Figures of storage, as ratios where two things are compared in the same run.
//
//   storage_bench [--records N] [--directory PATH]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "storage/committer.hpp"
#include "storage/library.hpp"
#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "tests/storage/sample.hpp"

namespace {

using namespace hone;
using namespace hone::storage;
using namespace hone::storage::test;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void fill(const std::string& path, std::uint64_t first, std::uint64_t count) {
  BulkWriter writer(path);
  writer.add(PutEnvironment{environment()});
  for (std::uint64_t i = first; i < first + count; ++i) writer.add(PutRecord{record(i)});
  writer.finish();
}

// 64 threads' worth of upgrades through the committer against one commit each, in turns.
void group_commit(const std::string& directory) {
  LmdbStore store(Database::open(directory + "/group"));
  std::vector<double> ratios, grouped_rates, single_rates;
  std::uint64_t number = 0;
  for (int round = 0; round < 5; ++round) {
    constexpr std::uint64_t singles = 50, grouped = 2000;
    auto start = Clock::now();
    for (std::uint64_t i = 0; i < singles; ++i) store.commit(std::vector<Change>{PutRecord{record(number++ % 5000)}});
    const double single_rate = singles / seconds_since(start);
    start = Clock::now();
    {
      Committer committer([&](std::span<const Change> changes) { return store.commit(changes); });
      std::atomic<std::uint64_t> done{0};
      for (std::uint64_t i = 0; i < grouped; ++i) {
        committer.submit({PutRecord{record(number++ % 5000)}}, [&](std::error_code error) { done += error ? 0 : 1; });
      }
      committer.flush(std::chrono::hours(1));
      if (done != grouped) fmt::print("commits failed\n");
    }
    const double grouped_rate = grouped / seconds_since(start);
    ratios.push_back(grouped_rate / single_rate);
    grouped_rates.push_back(grouped_rate);
    single_rates.push_back(single_rate);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(grouped_rates.begin(), grouped_rates.end());
  std::sort(single_rates.begin(), single_rates.end());
  fmt::print("group commit: {:.0f} upgrades/s, one flush each: {:.0f} upgrades/s, ratio {:.1f} (median of 5)\n",
             grouped_rates[2], single_rates[2], ratios[2]);
}

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// In a process of its own, so that memory is that of opening alone.
[[noreturn]] void open_and_answer(const std::string& path, std::uint64_t count) {
  const auto start = Clock::now();
  LibraryOptions options;
  options.user_database = path;
  Library library(std::move(options));
  const bool found = library.find(problem_key(count / 2), problem_text(count / 2), environment()).has_value();
  const double first = seconds_since(start);
  const std::uint64_t memory = resident_kib();
  const Environment here = environment();
  std::vector<double> times;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint64_t number = i * 7919 % count;
    const ProblemKey key = problem_key(number);
    const std::string text = problem_text(number);
    const auto begin = Clock::now();
    const bool hit = library.find(key, text, here).has_value();
    times.push_back(1e6 * seconds_since(begin));
    if (!hit) std::_Exit(1);
  }
  std::sort(times.begin(), times.end());
  fmt::print(
      "{} records: open and first answer {:.2f} ms, {:.1f} MiB resident then; find on a hit {:.2f} us median, "
      "{:.2f} us p99\n",
      count, 1e3 * first, static_cast<double>(memory) / 1024, times[times.size() / 2], times[times.size() * 99 / 100]);
  std::fflush(stdout);
  ::_exit(found ? 0 : 1);
}

void open_first_answer(const std::string& directory, std::uint64_t count, const char* self) {
  const std::string path = directory + "/many";
  fill(path, 0, count);
  for (int round = 0; round < 3; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string number = std::to_string(count);
      ::execl(self, self, "--open", path.c_str(), number.c_str(), nullptr);
      ::_exit(2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) fmt::print("opening failed\n");
  }
}

void merge_and_exchange(const std::string& directory, std::uint64_t count) {
  const std::string a = directory + "/a", b = directory + "/b";
  fill(a, 0, count);
  fill(b, count / 2, count);
  const auto start = Clock::now();
  merge(a, b);
  fmt::print("merge of two databases of {} records: {:.2f} s\n", count, seconds_since(start));
}

void exchange(const std::string& directory, std::uint64_t count, const std::string& program) {
  if (!std::filesystem::exists(program)) {
    fmt::print("export | import: skipped, {} is not built\n", program);
    return;
  }
  const std::string from = directory + "/from";
  fill(from, 0, count);
  const auto start = Clock::now();
  const std::string command = fmt::format("{0} db export -d {1} - 2>/dev/null | {0} db import -d {2} - 2>/dev/null",
                                          program, from, directory + "/to");
  const int status = std::system(command.c_str());
  fmt::print("export | import of {} records: {:.2f} s, status {}\n", count, seconds_since(start), status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--open") open_and_answer(argv[2], std::strtoull(argv[3], nullptr, 10));
  std::uint64_t records = 1'000'000;
  std::string where = std::filesystem::temp_directory_path();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--records") records = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--directory") where = argv[i + 1];
  }
  std::string directory = where + "/hone_storage_bench_XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    fmt::print(stderr, "no directory can be made in {}\n", where);
    return 1;
  }
  group_commit(directory);
  merge_and_exchange(directory, 100'000);
  exchange(directory, 100'000, HONE_PROGRAM);
  open_first_answer(directory, records, "/proc/self/exe");
  std::filesystem::remove_all(directory);
  return 0;
}
