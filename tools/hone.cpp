// The program hone: one subcommand for each thing that can be done without writing code.
#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/config_command.hpp"
#include "tools/db_command.hpp"
#include "tools/demo_command.hpp"
#include "tools/devices_command.hpp"
#include "tools/explain_command.hpp"
#include "tools/learn/learn_command.hpp"
#include "tools/own_isolation.hpp"
#include "tools/replay_find_db_command.hpp"
#include "tools/replay_space_command.hpp"
#include "tools/tune_command.hpp"

int main(int argc, char** argv) {
  hone::tools::serve_own_isolation(argc, argv);
  CLI::App app("hone: the best known kernel at once, verified and retuned in the background", "hone");
  app.require_subcommand(1);
  app.set_version_flag("--version", "hone " HONE_VERSION);
  app.set_help_all_flag("--help-all", "Print the help of every subcommand");
  int exit_status = 0;
  hone::tools::add_demo_command(app, exit_status);
  hone::tools::add_tune_command(app, exit_status);
  hone::tools::add_db_command(app, exit_status);
  hone::tools::add_explain_command(app, exit_status);
  hone::tools::add_config_command(app, exit_status);
  hone::tools::add_devices_command(app, exit_status);
  hone::tools::add_learn_command(app, exit_status);
  CLI::App* replay = app.add_subcommand("replay", "Score decisions on recorded measurements, in virtual time");
  replay->require_subcommand(1);
  hone::tools::add_replay_find_db_command(*replay, exit_status);
  hone::tools::add_replay_space_commands(*replay, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hone: {}\n", error.what());
    return 1;
  }
  return exit_status;
}
