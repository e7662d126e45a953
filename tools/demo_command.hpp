// hone demo
#pragma once

namespace CLI {
class App;
}

namespace hone::tools {

// Adds the subcommand; it sets `exit_status` when it runs.
void add_demo_command(CLI::App& app, int& exit_status);

}  // namespace hone::tools
