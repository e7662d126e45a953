// `hone replay space FILE` and `hone replay spaces DIRECTORY`: scores search strategies on recorded spaces.
#pragma once

#include <CLI/CLI.hpp>

namespace hone::tools {

// Adds both commands. They print to the standard output and set `exit_status`; bad files throw hone::Error.
void add_replay_space_commands(CLI::App& replay, int& exit_status);

}  // namespace hone::tools
