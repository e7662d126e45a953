// hone learn: data sets, models and generated heuristics.
#pragma once

namespace CLI {
class App;
}

namespace hone::tools {

// Adds the subcommand; when it is called it sets the program's exit status: 1 where lines were left out, 2 for an
// error.
void add_learn_command(CLI::App& app, int& exit_status);

}  // namespace hone::tools
