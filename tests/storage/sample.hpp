// Values and directories for tests of storage/.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <hone/environment.hpp>
#include <string>

#include "storage/store.hpp"
#include "tests/support/temporary_directory.hpp"

namespace hone::storage::test {

// A fresh directory that goes with the object; the database is in a folder of it.
class TemporaryDirectory : public hone::test::TemporaryDirectory {
 public:
  std::string path(const std::string& name = "db") const { return hone::test::TemporaryDirectory::path(name); }
};

inline std::string problem_text(std::uint64_t number) { return fmt::format("gemm m={} n=768 k=3072", number + 1); }

inline ProblemKey problem_key(std::uint64_t number) {
  const std::string text = problem_text(number);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

inline Environment environment(const std::string& library = "0.3.21") {
  return {"intel", "x86_64-avx512", "8 cores at 2.1 GHz", {{"openblas", library}, {"threads", "8"}}};
}

inline RecordedCandidate candidate(std::uint64_t number, const std::string& solver = "blocked") {
  RecordedCandidate result;
  result.candidate = {solver, 3, fmt::format("mr=6,nr={}", number)};
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const double time = 1000.25 + static_cast<double>(number);
  result.timing = {Nanoseconds(time), Nanoseconds(time * 0.98), Nanoseconds(time * 1.02), 17};
  result.workspace = 64 * number;
  return result;
}

inline Record record(std::uint64_t number, const Environment& where = environment(), std::uint64_t version = 0) {
  Record result;
  result.key = problem_key(number);
  result.problem = problem_text(number);
  result.environment = where.id();
  result.best = candidate(number % 1000 + version);
  result.rivals = {candidate(number % 1000 + 1, "openblas"), candidate(number % 1000 + 2, "onednn")};
  result.measurement = {true, 9};
  result.date = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000 + number));
  result.budget_spent = std::chrono::milliseconds(250);
  result.evaluations = 40 + version;
  result.complete = true;
  result.stop = StopReason::patience;
  if (number % 3 == 0) result.judgement = Judgement{Verdict::re_rank, 1.25, "openblas beats the claimed candidate"};
  return result;
}

inline Trial trial(std::uint64_t number, std::uint64_t run, const Environment& where = environment()) {
  return {
      problem_key(number),
      problem_text(number),
      where.id(),
      candidate(run),
      TrialStatus::wrong_result,
      "element 3 differs",
      std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000 + run)),
      run % 2 == 1,
      run % 2 == 1 ? CodeFacts{{"spilled_registers", -1}, {"vector_registers", std::int64_t{1} << 40}} : CodeFacts()};
}

inline Quarantined quarantined(std::uint64_t number, std::uint64_t run, const Environment& where = environment()) {
  return {problem_key(number), problem_text(number),
          where.id(),          candidate(run).candidate,
          "crashed",           std::chrono::sys_seconds(std::chrono::seconds(1))};
}

// Flips one bit of the file.
inline void flip_bit(const std::string& path, std::uint64_t offset, unsigned bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  char byte = 0;
  file.get(byte);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ (1 << bit)));
}

}  // namespace hone::storage::test
