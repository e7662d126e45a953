#include "tools/explain_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <hone/hone.hpp>

#include "tools/built_in_operation.hpp"
#include "tools/command_callback.hpp"
#include "tools/own_isolation.hpp"

namespace hone::tools {
namespace {

struct Options {
  std::string problem;
  std::string operation = "gemm";
  std::string database;
  std::vector<std::string> system_databases;
};

int explain(const Options& options) {
  const auto operation = built_in_operation(options.operation);
  EngineOptions engine_options;
  engine_options.isolation_program = own_isolation_program();
  engine_options.policy = Policy::frozen();
  if (!options.database.empty()) engine_options.database = options.database;
  engine_options.system_databases = options.system_databases;
  Engine engine(engine_options);
  engine.add(host_device());
  engine.add(operation);
  const Explanation explanation = engine.explain(Problem::parse(operation->problem_type(), options.problem));
  fmt::print("{}", to_string(explanation));
  return explanation.reason.empty() ? 0 : 1;
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("explain", "Tell why the present solution of a problem stands, and what speaks for it");
  command->add_option("problem", options->problem, "The problem: \"m=16 n=768 k=3072\"")->required();
  command->add_option("--operation", options->operation, "Its operation")->capture_default_str();
  command->add_option("-d,--database", options->database, "Directory of the database (default: HONE_DATABASE)");
  command->add_option("--system", options->system_databases, "A system database under it; may be repeated")
      ->allow_extra_args(false);
  command->footer(
      "Nothing is measured. What a running server does with a problem, its place in the queue for instance, only that\n"
      "server can tell: hone::Engine::explain.\n"
      "Example:\n  hone explain \"m=16 n=768 k=3072\" -d /var/lib/app/hone");
  set_callback(command, "hone explain", exit_status, [options] { return explain(*options); });
}

}  // namespace hone::tools
