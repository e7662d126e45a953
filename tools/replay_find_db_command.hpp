// hone replay find-db: scores the verification policy on two find-db files.
#pragma once

namespace CLI {
class App;
}

namespace hone::tools {

// Adds the subcommand to `hone replay`. It writes its exit status: 0, 1 when lines were rejected, 2 when a file cannot
// be read or has nothing in common with the other.
void add_replay_find_db_command(CLI::App& replay, int& exit_status);

}  // namespace hone::tools
