#include "tools/learn/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <hone/error.hpp>
#include <sstream>

namespace hone::tools::learn {
namespace {

// The fields of the record that begins at `at`, which moves behind it; `lines` grows by the line ends that it met.
std::vector<std::string> take_record(std::string_view text, std::size_t& at, std::size_t& lines) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') ++lines;
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        fields.back() += text[++at];
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

CsvTable::CsvTable(std::string file, std::string_view text, std::size_t first) : file_(std::move(file)) {
  std::size_t at = 0;
  std::size_t number = first;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error(Errc::invalid_option, fmt::format("{} has no line that names its columns", file_));
  }
  columns_ = take_record(text, at, number);
  while (at < text.size()) {
    const std::size_t begin = number;
    Line line{begin, take_record(text, at, number)};
    if (line.fields.size() == 1 && line.fields.front().empty()) continue;
    if (line.fields.size() == columns_.size()) {
      lines_.push_back(std::move(line));
    } else {
      complaints_.push_back(
          fmt::format("{}:{}: the line has {} fields, not {}", file_, begin, line.fields.size(), columns_.size()));
    }
  }
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const noexcept {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return {};
  return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t CsvTable::need(std::string_view name) const {
  if (const auto found = column(name)) return *found;
  throw Error(Errc::invalid_option,
              fmt::format("{} has no column '{}'; it has: {}", file_, name, fmt::join(columns_, ", ")));
}

std::string CsvTable::complaint(const Line& line, std::size_t column, std::string_view reason) const {
  return fmt::format("{}:{}: field \"{}\": {}", file_, line.number, columns_[column], reason);
}

std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream) throw Error(Errc::invalid_option, fmt::format("{} cannot be read: {}", file, std::strerror(errno)));
  return std::move(text).str();
}

std::optional<double> parse_number(std::string_view text) noexcept {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + '"';
}

}  // namespace hone::tools::learn
