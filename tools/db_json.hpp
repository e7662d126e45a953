// Entries of a database as lines of JSON, for `hone db export` and `import`. The round trip is exact.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "storage/store.hpp"

namespace hone::tools {

// Says which field is wrong, and why.
class BadLine : public std::runtime_error {
 public:
  BadLine(const std::string& field, const std::string& reason)
      : std::runtime_error(field.empty() ? reason : "field \"" + field + "\": " + reason) {}
};

// An object of one of the kinds environment, record, trial, quarantine, binary.
nlohmann::ordered_json to_json(const storage::Change& change);

// The change that one line stands for; records and trials as MergeRecord and MergeTrial. Throws BadLine.
storage::Change change_of_line(std::string_view line);

// "2026-11-30T22:00:00Z"; the number of seconds as text outside the years 0 to 9999.
std::string date_text(std::chrono::sys_seconds date);

// 16 lower-case hexadecimal digits.
std::string environment_text(std::uint64_t environment);

}  // namespace hone::tools
