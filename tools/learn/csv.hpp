// Comma-separated values as RFC 4180 has them, with places for complaints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::tools::learn {

// A table in memory. Lines that have another number of fields than the head are left out with a complaint.
class CsvTable {
 public:
  struct Line {
    std::size_t number = 0;  // in the file, from 1
    std::vector<std::string> fields;
  };

  // `text` is the table from its head on, which stands on line `first` of `file`. Throws Error(invalid_option) when
  // there is no head.
  CsvTable(std::string file, std::string_view text, std::size_t first = 1);

  const std::vector<std::string>& columns() const noexcept { return columns_; }
  const std::vector<Line>& lines() const noexcept { return lines_; }
  const std::string& file() const noexcept { return file_; }
  std::optional<std::size_t> column(std::string_view name) const noexcept;
  // Throws Error(invalid_option) naming the file and what there is instead.
  std::size_t need(std::string_view name) const;

  // "file:12: field "m": 'x' is not a number"
  std::string complaint(const Line& line, std::size_t column, std::string_view reason) const;
  std::vector<std::string>& complaints() noexcept { return complaints_; }

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::vector<Line> lines_;
  std::vector<std::string> complaints_;
};

// The whole file. Throws Error(invalid_option) with its name.
std::string read_file(const std::string& file);

// Nothing when the text is no number; "inf" and "nan" are.
std::optional<double> parse_number(std::string_view text) noexcept;

// Quoted where it has to be.
std::string csv_field(std::string_view text);

}  // namespace hone::tools::learn
