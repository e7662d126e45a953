#include "tools/find_db_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>

namespace hone::tools {
namespace {

// The text before the separator; `text` is left with what follows it. The whole text where there is none.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return head;
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

// Why the entry does not parse; nothing when it does.
std::optional<std::string> parse_entry(std::string_view text, FindDbEntry& entry) {
  const std::string_view whole = text;
  entry.solver = take(text, ':');
  if (entry.solver.empty() || entry.solver.size() == whole.size()) {
    return fmt::format("'{}' is not SOLVER:time,workspace,algorithm", whole);
  }
  const std::string_view time = take(text, ',');
  if (!parse_number(time, entry.milliseconds) || !std::isfinite(entry.milliseconds)) {
    return fmt::format("the time of '{}' is '{}'; it takes milliseconds of at least 0", entry.solver, time);
  }
  const std::string_view workspace = take(text, ',');
  if (!parse_number(workspace, entry.workspace)) {
    return fmt::format("the workspace of '{}' is '{}'; it takes bytes", entry.solver, workspace);
  }
  if (text.empty()) return fmt::format("the entry of '{}' names no algorithm", entry.solver);
  return {};
}

std::optional<std::string> parse_record(std::string_view line, FindDbRecord& record) {
  const std::size_t whole = line.size();
  record.key = take(line, '=');
  if (record.key.empty() || record.key.size() == whole) return "it is not KEY=ENTRIES";
  while (!line.empty()) {
    FindDbEntry entry;
    if (auto reason = parse_entry(take(line, ';'), entry)) return reason;
    record.entries.push_back(std::move(entry));
  }
  if (record.entries.empty()) return "it has no entries";
  return {};
}

}  // namespace

FindDbText read_find_db(std::istream& input) {
  FindDbText text;
  std::unordered_set<std::string> keys;
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    FindDbRecord record;
    if (auto reason = parse_record(line, record)) {
      text.rejected.push_back({number, *std::move(reason)});
    } else if (!keys.insert(record.key).second) {
      text.rejected.push_back({number, fmt::format("the key {} was given before", record.key)});
    } else {
      text.records.push_back(std::move(record));
    }
  }
  return text;
}

}  // namespace hone::tools
