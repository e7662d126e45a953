#include "tools/demo_server/live_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace hone::demo {
namespace {

constexpr Duration row_time(1);
constexpr Duration refresh_time(0.2);
constexpr const char* erase_line = "\r\033[K";

}  // namespace

LiveTable::LiveTable(std::FILE* out) : out_(out), terminal_(isatty(fileno(out)) != 0) {
  fmt::print(out_, "{:>7} {:>11} {:>8} {:>8} {:>9} {:>9} {:>7} {:>9} {:>11}\n", "time", "requests/s", "p50 ms",
             "p99 ms", "problems", "verified", "tuned", "upgraded", "background");
  std::fflush(out_);
}

void LiveTable::served(Duration now, Duration latency, const Counts& counts) {
  latencies_.push_back(latency);
  if (now - second_start_ >= row_time) {
    print_row(now, counts, true);
    second_start_ = shown_ = now;
    before_ = counts;
    latencies_.clear();
  } else if (terminal_ && now - shown_ >= refresh_time) {
    print_row(now, counts, false);
    shown_ = now;
  }
}

void LiveTable::say(const char* text) {
  fmt::print(out_, "{}{}\n", row_open_ ? erase_line : "", text);
  row_open_ = false;
  std::fflush(out_);
}

void LiveTable::begin_again(const char* text, Duration now) {
  say(text);
  second_start_ = shown_ = now;
  before_ = {};
  latencies_.clear();
}

void LiveTable::print_row(Duration now, const Counts& counts, bool complete) {
  const Duration elapsed = now - second_start_;
  const double rate = static_cast<double>(latencies_.size()) / elapsed.count();
  const double busy = (counts.busy - before_.busy) / elapsed;
  fmt::print(out_, "{}{:>6.1f}s {:>11.1f} {:>8.2f} {:>8.2f} {:>9} {:>9} {:>7} {:>9} {:>10.0f}%{}",
             row_open_ ? erase_line : "", now.count(), rate, percentile(latencies_, 0.50).count() * 1e3,
             percentile(latencies_, 0.99).count() * 1e3, counts.problems, counts.verified, counts.tuned,
             counts.upgrades, busy * 100, complete ? "\n" : "");
  row_open_ = !complete;
  std::fflush(out_);
}

}  // namespace hone::demo
