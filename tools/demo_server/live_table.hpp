// The table that the demo prints while it serves.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tools/demo_server/latencies.hpp"

namespace hone::demo {

struct Counts {
  std::uint64_t problems = 0, verified = 0, tuned = 0, upgrades = 0;
  Duration busy{0};
};

// One line a second. On a terminal the present second's line is kept up to date in place.
class LiveTable {
 public:
  explicit LiveTable(std::FILE* out);

  // A request was served: `now` since the start of the demo.
  void served(Duration now, Duration latency, const Counts& counts);
  // A line of text between the rows.
  void say(const char* text);
  // The same, and the next row begins now with all counts at zero.
  void begin_again(const char* text, Duration now);

 private:
  void print_row(Duration now, const Counts& counts, bool complete);

  std::FILE* out_;
  bool terminal_;
  bool row_open_ = false;
  Duration second_start_{0};
  Duration shown_{0};
  Counts before_;
  std::vector<Duration> latencies_;
};

}  // namespace hone::demo
