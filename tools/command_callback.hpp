// How a command of the program hone is run, and how it ends.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <hone/error.hpp>

namespace hone::tools {

// The command calls `run`, whose result is the exit status. An Error is told on standard error after `name`, with
// status 2.
template <class Run>
void set_callback(CLI::App* command, std::string name, int& exit_status, Run run) {
  command->callback([name = std::move(name), run = std::move(run), &exit_status] {
    try {
      exit_status = run();
    } catch (const Error& error) {
      fmt::print(stderr, "{}: {}\n", name, error.what());
      exit_status = 2;
    }
  });
}

}  // namespace hone::tools
