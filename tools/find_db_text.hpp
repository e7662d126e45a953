// MIOpen's find-db text: one record a line, KEY=SOLVER:time_ms,workspace_bytes,algorithm{;SOLVER:...}.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace hone::tools {

struct FindDbEntry {
  std::string solver;
  double milliseconds = 0;  // 0: the file has no time for it
  std::uint64_t workspace = 0;
};

struct FindDbRecord {
  std::string key;
  std::vector<FindDbEntry> entries;  // at least one, in the line's order
};

struct RejectedLine {
  std::size_t line = 0;  // counted from 1
  std::string reason;
};

struct FindDbText {
  std::vector<FindDbRecord> records;  // in the file's order; of a repeated key the first
  std::vector<RejectedLine> rejected;
};

// Reads all lines; those that do not parse are rejected with a reason and the rest is used. Empty lines are skipped.
FindDbText read_find_db(std::istream& input);

}  // namespace hone::tools
