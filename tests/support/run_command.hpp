// Runs a command of the program hone inside the test.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace hone::test {

struct CommandResult {
  int status = 0;
  std::string output;
  std::string errors;
};

// `add` adds the commands to the program, with the exit status that they set.
inline CommandResult run_command(const std::function<void(CLI::App&, int&)>& add, std::vector<std::string> arguments) {
  CommandResult result;
  CLI::App app("hone", "hone");
  app.require_subcommand(1);
  add(app, result.status);
  std::reverse(arguments.begin(), arguments.end());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    result.status = app.exit(error);
  }
  std::fflush(stdout);
  result.output = ::testing::internal::GetCapturedStdout();
  result.errors = ::testing::internal::GetCapturedStderr();
  return result;
}

}  // namespace hone::test
