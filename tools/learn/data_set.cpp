#include "tools/learn/data_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <hone/error.hpp>
#include <limits>
#include <optional>
#include <set>

#include "tools/learn/csv.hpp"
#include "tools/learn/data_set_builder.hpp"
#include "tools/learn/trial_table.hpp"

namespace hone::tools::learn {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(Errc::invalid_option, what); }

// A column name without its unit, and the nanoseconds of the unit; nothing when it has none.
struct Timed {
  std::string name;
  double unit = 1;
};
std::optional<Timed> timed(std::string_view column) {
  static constexpr std::pair<std::string_view, double> units[] = {{"_ns", 1}, {"_us", 1e3}, {"_ms", 1e6}};
  for (const auto& [suffix, unit] : units) {
    if (column.size() > suffix.size() && column.ends_with(suffix)) {
      return Timed{std::string(column.substr(0, column.size() - suffix.size())), unit};
    }
  }
  return {};
}

// The time in nanoseconds, infinite for a failure; nothing after a complaint.
std::optional<double> read_time(std::string_view text, double unit, std::string& reason) {
  const auto number = parse_number(text);
  if (!number) {
    reason = fmt::format("'{}' is not a number", text);
  } else if (std::isnan(*number)) {
    reason = "the time is not a number; inf stands for a candidate that failed";
  } else if (*number <= 0) {
    reason = fmt::format("the time {} is not positive", text);
  } else {
    return *number * unit;
  }
  return {};
}

Split split_of(const CsvTable& table, const CsvTable::Line& line, std::optional<std::size_t> column,
               std::string& reason) {
  if (!column) return Split::none;
  const std::string& text = line.fields[*column];
  if (text == "train") return Split::train;
  if (text == "val" || text == "validation") return Split::validation;
  if (text == "test") return Split::test;
  if (text == "dropped") return Split::dropped;
  reason = table.complaint(line, *column, fmt::format("'{}' is not one of train, val, test, dropped", text));
  return Split::none;
}

// The columns before the first time are the problem's fields.
std::vector<std::size_t> problem_columns(const CsvTable& table, DataSetBuilder& builder) {
  std::vector<std::size_t> columns;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.columns().size() && !timed(table.columns()[i]); ++i) {
    columns.push_back(i);
    names.push_back(table.columns()[i]);
  }
  if (columns.empty()) fail(fmt::format("{} has no problem fields before its times", table.file()));
  builder.set_fields(names, table.file());
  return columns;
}

// One column of times a candidate.
void read_wide(const CsvTable& table, DataSetBuilder& builder) {
  struct Column {
    std::size_t place = 0;
    double unit = 1;
    std::uint32_t candidate = 0;
  };
  std::vector<Column> times;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const auto column = timed(table.columns()[i]);
    if (!column || column->name.ends_with("_mean") || column->name.ends_with("_median")) continue;
    NamedCandidate candidate(column->name);
    candidate.parameters["candidate"] = column->name;
    Column chosen{i, column->unit, builder.candidate(candidate)};
    for (std::size_t j = 0; j < table.columns().size(); ++j) {
      const auto other = timed(table.columns()[j]);
      if (other && other->name == column->name + "_median") chosen = {j, other->unit, chosen.candidate};
    }
    times.push_back(chosen);
  }
  const auto fields = problem_columns(table, builder);
  const auto split_column = table.column("split");
  for (const CsvTable::Line& line : table.lines()) {
    std::vector<Measurement> measurements;
    std::string reason;
    for (const Column& column : times) {
      std::string why;
      if (line.fields[column.place].empty()) continue;
      if (const auto time = read_time(line.fields[column.place], column.unit, why)) {
        measurements.push_back({column.candidate, *time});
      } else {
        reason = table.complaint(line, column.place, why);
      }
    }
    const Split split = split_of(table, line, split_column, reason);
    if (reason.empty()) {
      builder.add(table, line, fields, split, std::move(measurements));
    } else {
      builder.complain(std::move(reason));
    }
  }
}

// Candidates by their id, from a table id,kind,PARAMETER,...
std::map<std::string, NamedCandidate> read_candidates(const std::string& file) {
  const CsvTable table(file, read_file(file));
  const std::size_t id = table.need("id");
  const std::size_t kind = table.need("kind");
  std::map<std::string, NamedCandidate> candidates;
  for (const CsvTable::Line& line : table.lines()) {
    NamedCandidate candidate(line.fields[kind]);
    std::string configuration;
    for (std::size_t i = 0; i < line.fields.size(); ++i) {
      if (i == id) continue;
      // -1 stands for "not applicable" in these tables, as an empty field does.
      const std::string& text = line.fields[i];
      candidate.parameters[table.columns()[i]] = text == "-1" ? "0" : text;
      if (i == kind || text.empty()) continue;
      configuration += fmt::format("{}{}={}", configuration.empty() ? "" : ",", table.columns()[i], text);
    }
    if (!configuration.empty()) {
      candidate.name += fmt::format("{{{}}}", configuration);
      candidate.pick.configuration = configuration;
    }
    candidates.emplace(line.fields[id], std::move(candidate));
  }
  return candidates;
}

// One column of "candidate id:time" pairs.
void read_pairs(const CsvTable& table, const std::map<std::string, NamedCandidate>& known, DataSetBuilder& builder) {
  const auto fields = problem_columns(table, builder);
  const std::size_t column = fields.size();
  const double unit = timed(table.columns()[column])->unit;
  const auto split_column = table.column("split");
  for (const CsvTable::Line& line : table.lines()) {
    std::vector<Measurement> measurements;
    std::string reason;
    std::set<std::uint32_t> seen;
    std::string_view rest = line.fields[column];
    while (!rest.empty() && reason.empty()) {
      const std::string_view pair = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      if (pair.empty()) continue;
      const std::size_t colon = pair.find(':');
      const auto found = known.find(std::string(pair.substr(0, colon)));
      std::string why;
      if (colon == std::string_view::npos) {
        why = fmt::format("'{}' is not id:time", pair);
      } else if (found == known.end()) {
        why = fmt::format("candidate {} is not in the table of candidates", pair.substr(0, colon));
      } else if (const auto time = read_time(pair.substr(colon + 1), unit, why)) {
        const std::uint32_t candidate = builder.candidate(found->second);
        if (seen.insert(candidate).second) {
          measurements.push_back({candidate, *time});
        } else {
          why = fmt::format("candidate {} is there twice", pair.substr(0, colon));
        }
      }
      if (!why.empty()) reason = table.complaint(line, column, why);
    }
    const Split split = split_of(table, line, split_column, reason);
    if (reason.empty()) {
      builder.add(table, line, fields, split, std::move(measurements));
    } else {
      builder.complain(std::move(reason));
    }
  }
}

bool has_pairs(const CsvTable& table) {
  return std::any_of(table.columns().begin(), table.columns().end(), [](const std::string& column) {
    const auto found = timed(column);
    return found && found->name == "times";
  });
}

bool has_times(const CsvTable& table) {
  return std::any_of(table.columns().begin(), table.columns().end(),
                     [](const std::string& column) { return timed(column).has_value(); });
}

}  // namespace

double DataSet::time_of(const MeasuredProblem& measured, std::uint32_t candidate_index) const noexcept {
  for (const Measurement& each : measured.measurements) {
    if (each.candidate == candidate_index) return each.time;
  }
  return std::numeric_limits<double>::infinity();
}

DataSet read_data_set(const std::vector<std::string>& files, const ReadOptions& options) {
  DataSetBuilder builder(options);
  builder.set_default(default_candidate_of(options.operation));
  std::optional<std::map<std::string, NamedCandidate>> candidates;
  for (const std::string& file : files) {
    const std::string text = read_file(file);
    builder.add_bytes(text);
    if (text.starts_with("# ")) {
      read_trial_table(file, text, options, builder);
      continue;
    }
    CsvTable table(file, text);
    for (const std::string& complaint : table.complaints()) builder.complain(complaint);
    if (has_pairs(table)) {
      if (!candidates) {
        const std::string of_ids = !options.candidates.empty()
                                       ? options.candidates
                                       : (std::filesystem::path(file).parent_path() / "choices.csv").string();
        const std::string ids_text = read_file(of_ids);
        builder.add_bytes(ids_text);
        candidates = read_candidates(of_ids);
      }
      read_pairs(table, *candidates, builder);
    } else if (has_times(table)) {
      read_wide(table, builder);
    } else {
      fail(fmt::format(
          "{} has no times with a unit, such as a column ending in _ns, _us or _ms, and no head \"# {{...}}\" "
          "as hone learn export writes it; it has the columns: {}",
          file, fmt::join(table.columns(), ", ")));
    }
  }
  return builder.finish();
}

}  // namespace hone::tools::learn
