// A progress bar on standard error, when that is a terminal.
#pragma once

#include <cstdint>
#include <string>

#include "storage/maintenance.hpp"

namespace hone::tools {

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  // Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // For functions that report progress; empty when standard error is no terminal. Must not outlive the bar.
  storage::Progress progress();

 private:
  void show(std::uint64_t done, std::uint64_t total);
  std::string what_;
  bool terminal_;
  int percent_ = -1;
};

}  // namespace hone::tools
