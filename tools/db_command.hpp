// hone db
#pragma once

namespace CLI {
class App;
}

namespace hone::tools {

// Adds the subcommand with its own subcommands; they set `exit_status` when they run: 0 all is well, 1 something is
// wrong with the data (it says what), 2 nothing could be done. Bad usage is CLI11's own error.
void add_db_command(CLI::App& app, int& exit_status);

}  // namespace hone::tools
