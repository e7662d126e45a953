#include "tools/config_command.hpp"

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <hone/engine.hpp>

#include "tools/command_callback.hpp"
#include "tools/own_isolation.hpp"

namespace hone::tools {
namespace {

const std::map<std::string, std::function<Policy()>> presets = {{"serving", Policy::serving},
                                                                {"benchmark", Policy::benchmark},
                                                                {"frozen", Policy::frozen},
                                                                {"offline", Policy::offline}};

std::string_view name_of(Origin origin) { return symbols(Origin{})[static_cast<std::size_t>(origin)]; }

void print_table(const std::vector<KnobDescription>& knobs) {
  fmt::print("{:<24} {:<26} {:<14} {:<12} {}\n", "OPTION", "VARIABLE", "VALUE", "ORIGIN", "MEANING");
  for (const KnobDescription& knob : knobs) {
    fmt::print("{:<24} {:<26} {:<14} {:<12} {}; {}\n", knob.name, knob.variable, knob.value.empty() ? "-" : knob.value,
               name_of(knob.origin), knob.meaning, knob.accepts);
  }
}

void print_json(const std::vector<KnobDescription>& knobs) {
  auto list = nlohmann::ordered_json::array();
  for (const KnobDescription& knob : knobs) {
    list.push_back({{"option", knob.name},
                    {"variable", knob.variable},
                    {"value", knob.value},
                    {"origin", name_of(knob.origin)},
                    {"accepts", knob.accepts},
                    {"meaning", knob.meaning}});
  }
  fmt::print("{}\n", list.dump(2));
}

}  // namespace

void add_config_command(CLI::App& app, int& exit_status) {
  struct Options {
    std::string preset = "serving";
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("config", "Print every knob with its value, where that comes from, and what it takes");
  command
      ->add_option("--preset", options->preset, "The preset under the variables: serving, benchmark, frozen or offline")
      ->check(CLI::IsMember({"serving", "benchmark", "frozen", "offline"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Examples:\n  hone config\n  HONE_TOLERANCE=0.1 hone config --preset benchmark --json");
  set_callback(command, "hone config", exit_status, [options] {
    EngineOptions engine_options;
    engine_options.isolation_program = own_isolation_program();
    engine_options.policy = presets.at(options->preset)();
    const auto knobs = describe(resolve(engine_options, environment_variables()));
    options->json ? print_json(knobs) : print_table(knobs);
    return 0;
  });
}

}  // namespace hone::tools
