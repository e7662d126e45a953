#include "tools/demo_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <hone/error.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/command_callback.hpp"
#include "tools/demo_server/demo.hpp"
#include "tools/interruption.hpp"
#include "tools/own_isolation.hpp"

namespace hone::tools {
namespace {

struct Options {
  demo::DemoOptions demo;
  double seconds = 30;
  std::string json;
};

int run(Options& options) {
  options.demo.isolation_program = own_isolation_program();
  options.demo.seconds = demo::Duration(options.seconds);
  // Opened before half a minute of work, not after it.
  std::ofstream file;
  if (!options.json.empty()) {
    file.open(options.json);
    if (!file) throw Error(Errc::invalid_option, "--json " + options.json + ": the file cannot be written");
  }
  const Interruption interruption;
  const demo::Summary summary = run_demo(
      options.demo, [&] { return interruption.requested(); }, stdout);
  print(summary, stdout);
  if (!options.json.empty()) {
    file << to_json(summary).dump(2) << '\n';
    file.close();
    if (!file) throw Error(Errc::invalid_option, "--json " + options.json + ": writing failed; is the disk full?");
  }
  return summary.results_match.value_or(true) ? 0 : 1;
}

}  // namespace

void add_demo_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "demo", "Serve a transformer encoder over a real text while it is honed, then compare with each library alone");
  command
      ->add_option("--seconds", options->seconds,
                   "How long to measure; a busy machine may need twice as long to finish honing")
      ->check(CLI::Range(2.0, 86400.0))
      ->capture_default_str();
  command->add_option("--text", options->demo.text, "A text file, or a folder of them")->capture_default_str();
  command->add_option("--sentences", options->demo.sentences, "How many sentences of it are served in turn")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--database", options->demo.database, "The folder of the database; default: one that is removed");
  command->add_option("--seed", options->demo.seed, "Of the weights and of the sentences' order")
      ->capture_default_str();
  command->add_option("--json", options->json, "Write the summary as JSON to this file");
  command->footer(
      "Ctrl-C ends it with a summary of what was measured so far.\n\nExamples:\n  hone demo\n"
      "  hone demo --seconds 60 --text book.txt --json summary.json");
  set_callback(command, "hone demo", exit_status, [options] { return run(*options); });
}

}  // namespace hone::tools
