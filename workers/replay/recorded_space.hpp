// A search space with recorded outcomes: every valid configuration, its run times and what compiling it cost.
//
// NAME.csv has a header and a row a configuration: the parameters, then the columns status (ok, compile_failed,
// runtime_failed), mean_ms and compile_ms; times are empty where it failed, further columns are ignored. A column of
// whole numbers is an integer parameter, any other one an enumeration. NAME.times.csv.xz, where it exists, holds the
// single runs in milliseconds, a row a configuration in the same order; without it every run takes mean_ms.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <hone/search_space.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone::workers {

enum class RecordedStatus : std::uint8_t { ok, compile_failed, runtime_failed };

// Immutable and thread-safe once read.
class RecordedSpace {
 public:
  using Milliseconds = std::chrono::duration<double, std::milli>;
  struct Row {
    RecordedStatus status = RecordedStatus::ok;
    Milliseconds mean{0};     // of all runs; zero where it failed
    Milliseconds compile{0};  // zero when not recorded
    std::size_t first_run = 0;
    std::size_t run_count = 0;
  };

  // Throws Error(invalid_option) naming file, line and column, both from 1.
  static RecordedSpace read(const std::filesystem::path& csv);
  // The same from texts; `runs` is the decompressed second file or nothing. `name` stands for the file in errors.
  static RecordedSpace parse(std::string name, std::string_view csv, std::optional<std::string_view> runs);

  // The file's name without its extension: "gemm__RTX_3090".
  const std::string& name() const noexcept { return name_; }
  // Its only rule: a configuration must be recorded.
  const SearchSpace& space() const noexcept { return space_; }
  std::span<const Row> rows() const noexcept { return rows_; }
  Configuration configuration(std::size_t row) const;
  // Nothing when it is not recorded.
  std::optional<std::size_t> row_of(const Configuration& configuration) const;
  // The single runs of a row in the order they were taken, at least one where it ran.
  std::span<const Milliseconds> runs(const Row& row) const noexcept {
    return std::span(runs_).subspan(row.first_run, row.run_count);
  }

  // Rows that ran, fastest mean first.
  std::span<const std::size_t> ranking() const noexcept { return ranking_; }
  Milliseconds best() const noexcept { return rows_[ranking_.front()].mean; }
  Milliseconds worst() const noexcept { return rows_[ranking_.back()].mean; }

 private:
  friend class RecordedSpaceReader;
  RecordedSpace() = default;

  std::string name_;
  SearchSpace space_;
  std::vector<Row> rows_;
  std::vector<std::int64_t> values_;  // one a parameter for each row
  std::vector<Milliseconds> runs_;
  std::vector<std::size_t> ranking_;
  std::unordered_map<std::uint64_t, std::size_t> row_by_key_;
};

// The decompressed contents of an .xz file. Throws Error(invalid_option) naming the file.
std::string read_xz(const std::filesystem::path& path);

}  // namespace hone::workers
