// hone devices: what engines can be given.
#pragma once

namespace CLI {
class App;
}

namespace hone::tools {

// Adds the subcommand; it sets `exit_status` when it runs.
void add_devices_command(CLI::App& app, int& exit_status);

}  // namespace hone::tools
