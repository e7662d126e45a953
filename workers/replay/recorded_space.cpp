#include "workers/replay/recorded_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <hone/error.hpp>
#include <memory>
#include <sstream>
#include <unordered_set>

namespace hone::workers {
namespace {

// One line's cells with where they begin, for errors.
struct Line {
  std::size_t number = 0;  // from 1
  std::vector<std::string_view> cells;
  std::vector<std::size_t> columns;  // from 1
};

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next(Line& line) {
    if (text_.empty()) return false;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view content = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line.number;
    if (!content.empty() && content.back() == '\r') content.remove_suffix(1);
    split(content, line);
    return true;
  }

 private:
  static void split(std::string_view content, Line& line) {
    line.cells.clear();
    line.columns.clear();
    std::size_t begin = 0;
    while (true) {
      const std::size_t comma = content.find(',', begin);
      line.cells.push_back(content.substr(begin, comma - begin));
      line.columns.push_back(begin + 1);
      if (comma == std::string_view::npos) return;
      begin = comma + 1;
    }
  }

  std::string_view text_;
};

template <class T>
std::optional<T> number(std::string_view cell) {
  T value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// One number for each prefix of a configuration. The products of the radices were checked to fit.
std::uint64_t key_of(std::span<const std::uint64_t> places, std::span<const std::uint64_t> radix) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < places.size(); ++i) key = key * radix[i] + places[i];
  return key;
}

}  // namespace

class RecordedSpaceReader {
 public:
  RecordedSpaceReader(std::string name, std::string_view csv) : lines_(csv) { space_.name_ = std::move(name); }

  RecordedSpace read(std::optional<std::string_view> runs) {
    read_header();
    read_rows();
    make_space();
    if (runs) {
      read_runs(*runs);
    } else {
      for (RecordedSpace::Row& row : space_.rows_)
        add_runs(row, {&row.mean, row.status == RecordedStatus::ok ? 1u : 0u});
    }
    return std::move(space_);
  }

 private:
  using Milliseconds = RecordedSpace::Milliseconds;

  [[noreturn]] void fail(std::string_view file, std::size_t line, std::size_t column, const std::string& what) const {
    throw Error(Errc::invalid_option, fmt::format("{}, line {}, column {}: {}", file, line, column, what));
  }
  [[noreturn]] void fail(std::size_t cell, const std::string& what) const {
    const std::size_t column = cell < line_.columns.size() ? line_.columns[cell] : 1;
    fail(space_.name_, std::max<std::size_t>(line_.number, 1), column, what);
  }

  void read_header() {
    if (!lines_.next(line_)) fail(0, "the file is empty; it must begin with a header");
    const auto place = [&](std::string_view wanted) {
      const auto found = std::find(line_.cells.begin(), line_.cells.end(), wanted);
      if (found == line_.cells.end()) fail(0, fmt::format("the header has no column '{}'", wanted));
      return static_cast<std::size_t>(found - line_.cells.begin());
    };
    status_ = place("status");
    mean_ = place("mean_ms");
    compile_ = place("compile_ms");
    width_ = line_.cells.size();
    if (status_ == 0) fail(0, "the header has no parameters before the column 'status'");
    header_.assign(line_.cells.begin(), line_.cells.begin() + static_cast<std::ptrdiff_t>(status_));
    cells_.resize(status_);
  }

  void read_rows() {
    while (lines_.next(line_)) {
      if (line_.cells.size() != width_) {
        fail(0, fmt::format("the row has {} columns, the header {}", line_.cells.size(), width_));
      }
      for (std::size_t i = 0; i < status_; ++i) {
        if (line_.cells[i].empty()) fail(i, fmt::format("the value of '{}' is missing", header_[i]));
        cells_[i].push_back(line_.cells[i]);
      }
      RecordedSpace::Row row;
      row.status = status(line_.cells[status_]);
      if (row.status == RecordedStatus::ok) {
        row.mean = time(mean_);
        if (row.mean.count() <= 0) fail(mean_, "a time must be positive");
      }
      if (!line_.cells[compile_].empty()) row.compile = time(compile_);
      space_.rows_.push_back(row);
    }
    if (space_.rows_.empty()) fail(0, "the file has no rows");
  }

  RecordedStatus status(std::string_view cell) const {
    if (cell == "ok") return RecordedStatus::ok;
    if (cell == "compile_failed") return RecordedStatus::compile_failed;
    if (cell == "runtime_failed") return RecordedStatus::runtime_failed;
    fail(status_, fmt::format("'{}' is no status; known are ok, compile_failed and runtime_failed", cell));
  }

  Milliseconds time(std::size_t cell) const {
    const auto value = number<double>(line_.cells[cell]);
    if (!value || !std::isfinite(*value) || *value < 0) {
      fail(cell, fmt::format("'{}' is no time in milliseconds", line_.cells[cell]));
    }
    return Milliseconds(*value);
  }

  void make_space() {
    std::vector<std::vector<std::uint64_t>> places(status_);  // of each parameter and row
    std::vector<std::vector<std::int64_t>> values(status_);   // of each parameter and row
    std::vector<std::uint64_t> radix;
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < status_; ++i) {
      add_parameter(i, values[i], places[i]);
      radix.push_back(space_.space_.parameters()[i].values.size());
      if (__builtin_mul_overflow(product, radix.back(), &product)) {
        fail(space_.name_, 1, 1, "the parameters have more than 2^64 combinations");
      }
    }
    const std::size_t rows = space_.rows_.size();
    std::vector<std::uint64_t> prefix(status_);
    // A row's prefixes of each length; a rule for each length rejects early what no row begins with.
    std::vector<std::shared_ptr<std::unordered_set<std::uint64_t>>> known(status_);
    for (auto& set : known) set = std::make_shared<std::unordered_set<std::uint64_t>>();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < status_; ++i) {
        prefix[i] = places[i][row];
        known[i]->insert(key_of(std::span(prefix).first(i + 1), radix));
        space_.values_.push_back(values[i][row]);
      }
      const std::uint64_t key = key_of(prefix, radix);
      const auto [twice, inserted] = space_.row_by_key_.emplace(key, row);
      if (!inserted) {
        fail(space_.name_, row + 2, 1, fmt::format("the configuration is the same as in line {}", twice->second + 2));
      }
      if (space_.rows_[row].status == RecordedStatus::ok) space_.ranking_.push_back(row);
    }
    if (space_.ranking_.empty()) fail(space_.name_, 2, 1, "no configuration ran");
    std::stable_sort(space_.ranking_.begin(), space_.ranking_.end(),
                     [&](std::size_t a, std::size_t b) { return space_.rows_[a].mean < space_.rows_[b].mean; });
    add_rules(known, radix);
  }

  void add_parameter(std::size_t index, std::vector<std::int64_t>& values, std::vector<std::uint64_t>& places) {
    std::vector<std::string_view>& cells = cells_[index];
    const bool whole = std::all_of(cells.begin(), cells.end(), [](auto cell) { return number<std::int64_t>(cell); });
    std::vector<std::int64_t> distinct;
    if (whole) {
      for (const std::string_view cell : cells) values.push_back(*number<std::int64_t>(cell));
      distinct = values;
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      space_.space_.integer(header_[index], distinct);
    } else {
      std::vector<std::string> labels;
      for (const std::string_view cell : cells) {
        const auto place = std::find(labels.begin(), labels.end(), cell);
        values.push_back(place - labels.begin());
        if (place == labels.end()) labels.emplace_back(cell);
      }
      space_.space_.enumeration(header_[index], labels);
      for (std::size_t i = 0; i < labels.size(); ++i) distinct.push_back(static_cast<std::int64_t>(i));
    }
    for (const std::int64_t value : values) {
      places.push_back(
          static_cast<std::uint64_t>(std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin()));
    }
  }

  void add_rules(const std::vector<std::shared_ptr<std::unordered_set<std::uint64_t>>>& known,
                 const std::vector<std::uint64_t>& radix) {
    std::vector<std::string> names;
    std::uint64_t combinations = 1;
    for (std::size_t i = 0; i < status_; ++i) {
      names.push_back(header_[i]);
      combinations *= radix[i];
      if (known[i]->size() == combinations) continue;
      // With one value to choose from the shorter prefix says it all.
      if (radix[i] == 1 && i > 0 && i + 1 < status_) continue;
      std::vector<std::vector<std::int64_t>> accepted;
      for (const std::string& name : names) accepted.push_back(values_of(name));
      space_.space_.rule(names, [set = known[i], radix, accepted](std::span<const std::int64_t> v) {
        std::uint64_t key = 0;
        for (std::size_t p = 0; p < v.size(); ++p) {
          const auto place = std::lower_bound(accepted[p].begin(), accepted[p].end(), v[p]) - accepted[p].begin();
          key = key * radix[p] + static_cast<std::uint64_t>(place);
        }
        return set->contains(key);
      });
    }
  }

  std::vector<std::int64_t> values_of(const std::string& name) const {
    for (const Parameter& parameter : space_.space_.parameters()) {
      if (parameter.name == name) return parameter.values;
    }
    return {};
  }

  void add_runs(RecordedSpace::Row& row, std::span<const Milliseconds> runs) {
    row.first_run = space_.runs_.size();
    row.run_count = runs.size();
    space_.runs_.insert(space_.runs_.end(), runs.begin(), runs.end());
  }

  void read_runs(std::string_view text) {
    const std::string file = space_.name_ + ".times";
    Lines lines(text);
    Line line;
    if (!lines.next(line)) fail(file, 1, 1, "the file is empty; it must begin with a header");
    std::vector<Milliseconds> runs;
    for (RecordedSpace::Row& row : space_.rows_) {
      if (!lines.next(line))
        fail(file, line.number, 1, fmt::format("only {} rows; the space has {}", line.number - 1, space_.rows_.size()));
      runs.clear();
      for (std::size_t i = 0; i < line.cells.size(); ++i) {
        if (line.cells[i].empty()) continue;
        const auto value = number<double>(line.cells[i]);
        if (!value || !(*value > 0) || !std::isfinite(*value)) {
          fail(file, line.number, line.columns[i], fmt::format("'{}' is no time in milliseconds", line.cells[i]));
        }
        runs.emplace_back(*value);
      }
      if (runs.empty() != (row.status != RecordedStatus::ok)) {
        fail(file, line.number, 1, "a configuration has runs exactly when its status is ok");
      }
      add_runs(row, runs);
    }
    if (lines.next(line)) fail(file, line.number, 1, "more rows than the space has");
  }

  Lines lines_;
  Line line_;
  std::size_t status_ = 0;
  std::size_t mean_ = 0;
  std::size_t compile_ = 0;
  std::size_t width_ = 0;
  std::vector<std::string> header_;                   // parameters
  std::vector<std::vector<std::string_view>> cells_;  // of each parameter and row
  RecordedSpace space_;
};

RecordedSpace RecordedSpace::parse(std::string name, std::string_view csv, std::optional<std::string_view> runs) {
  return RecordedSpaceReader(std::move(name), csv).read(runs);
}

RecordedSpace RecordedSpace::read(const std::filesystem::path& csv) {
  std::ifstream file(csv, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || !text) {
    throw Error(Errc::invalid_option,
                fmt::format("'{}' cannot be read; give a file of recorded configurations", csv.string()));
  }
  std::filesystem::path runs = csv;
  runs.replace_extension(".times.csv.xz");
  std::optional<std::string> recorded;
  if (std::filesystem::exists(runs)) recorded = read_xz(runs);
  return parse(csv.stem().string(), text.str(), recorded);
}

Configuration RecordedSpace::configuration(std::size_t row) const {
  const std::size_t width = space_.parameters().size();
  const auto values = std::span(values_).subspan(row * width, width);
  return space_.configuration({values.begin(), values.end()});
}

std::optional<std::size_t> RecordedSpace::row_of(const Configuration& configuration) const {
  const auto parameters = space_.parameters();
  const auto values = configuration.values();
  if (values.size() != parameters.size()) return std::nullopt;
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& accepted = parameters[i].values;
    const auto place = std::lower_bound(accepted.begin(), accepted.end(), values[i]);
    if (place == accepted.end() || *place != values[i]) return std::nullopt;
    key = key * accepted.size() + static_cast<std::uint64_t>(place - accepted.begin());
  }
  const auto found = row_by_key_.find(key);
  return found == row_by_key_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace hone::workers
