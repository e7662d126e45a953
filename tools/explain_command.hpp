// `hone explain`: why the present solution of a problem stands.
#pragma once

#include <CLI/CLI.hpp>

namespace hone::tools {

// Adds the command; its callback sets the exit status: 0 when the problem has a solution, 1 when not, 2 for an error.
void add_explain_command(CLI::App& app, int& exit_status);

}  // namespace hone::tools
