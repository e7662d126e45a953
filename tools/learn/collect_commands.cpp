#include "tools/learn/collect_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <hone/error.hpp>
#include <iostream>
#include <memory>

#include "tools/built_in_operation.hpp"
#include "tools/command_callback.hpp"
#include "tools/learn/export.hpp"
#include "tools/learn/generate.hpp"

namespace hone::tools::learn {
namespace {

struct Options {
  std::string operation = "gemm";
  std::string database;
  std::string out;
  std::optional<std::string> environment;
  GenerateOptions generate;
};

// To the file, or to standard output without one.
template <class Writing>
void write_to(const std::string& file, Writing writing) {
  if (file.empty()) {
    writing(std::cout);
    std::cout.flush();
    return;
  }
  std::ofstream stream(file, std::ios::binary);
  writing(stream);
  stream.close();
  if (!stream) throw Error(Errc::invalid_option, fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
}

int generate(const Options& options) {
  const auto operation = built_in_operation(options.operation);
  std::vector<Problem> real;
  if (!options.database.empty()) real = problems_in(options.database, operation->problem_type());
  const auto problems = generate_problems(options.operation, options.generate, real);
  write_to(options.out, [&](std::ostream& out) {
    out << fmt::format("# hone learn generate {} --count {} --seed {} --largest-work {}, {} real problems\n",
                       options.operation, options.generate.count, options.generate.seed, options.generate.largest_work,
                       real.size());
    for (const Problem& problem : problems) out << problem.text() << '\n';
  });
  return 0;
}

int export_trials(const Options& options) {
  const auto operation = built_in_operation(options.operation);
  const CollectedTrials collected = collect_trials(options.database, *operation, *host_device(), options.environment);
  std::vector<std::string> solvers;
  for (const auto& solver : operation->solvers()) solvers.emplace_back(solver->id());
  write_to(options.out, [&](std::ostream& out) {
    write_trial_table(out, operation->problem_type(), collected.environment, solvers, collected.trials);
  });
  for (const std::string& complaint : collected.complaints) fmt::print(stderr, "{}\n", complaint);
  fmt::print(stderr, "{} trials; left out: {} of other operations or environments, {} damaged, {} that do not parse\n",
             collected.trials.size(), collected.foreign, collected.damaged, collected.complaints.size());
  return collected.damaged > 0 || !collected.complaints.empty() ? 1 : 0;
}

}  // namespace

void add_collect_commands(CLI::App& learn, int& exit_status) {
  auto generating = std::make_shared<Options>();
  CLI::App* command = learn.add_subcommand("generate", "Draw problems to measure; hone tune --list - takes them");
  command->add_option("operation", generating->operation, "The operation")->capture_default_str();
  command->add_option("--count", generating->generate.count, "How many problems")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--seed", generating->generate.seed, "Of the drawing")->capture_default_str();
  command
      ->add_option("--largest-work", generating->generate.largest_work,
                   "Multiplications, or elements of rows, of one problem at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--database", generating->database, "Draws real problems and their neighbours from it too");
  command->add_option("--out", generating->out, "File (default: standard output)");
  command->footer("Example:\n  hone learn generate gemm --count 300 | hone tune gemm --list - --database trials");
  set_callback(command, "hone learn", exit_status, [generating] { return generate(*generating); });

  auto exporting = std::make_shared<Options>();
  command = learn.add_subcommand("export", "Write the trials of a database as a data set");
  command->add_option("--database", exporting->database, "Directory of the database")->required();
  command->add_option("--operation", exporting->operation, "The operation")->capture_default_str();
  command->add_option("--environment", exporting->environment,
                      "Environment by its 16 digits (default: the one with most trials)");
  command->add_option("--out", exporting->out, "File (default: standard output)");
  set_callback(command, "hone learn", exit_status, [exporting] { return export_trials(*exporting); });
}

}  // namespace hone::tools::learn
