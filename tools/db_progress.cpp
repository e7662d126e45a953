#include "tools/db_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace hone::tools {

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) fmt::print(stderr, "\r\x1b[K");
}

storage::Progress ProgressBar::progress() {
  if (!terminal_) return {};
  return [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
}

void ProgressBar::show(std::uint64_t done, std::uint64_t total) {
  const int percent =
      total == 0 ? 100 : static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total));
  if (percent == percent_) return;
  percent_ = percent;
  fmt::print(stderr, "\r{} [{:<25}] {:3} %", what_, std::string(static_cast<std::size_t>(percent / 4), '#'), percent);
}

}  // namespace hone::tools
