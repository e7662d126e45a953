#include "tools/tune_command.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <asio/use_future.hpp>
#include <nlohmann/json.hpp>

#include <hone/hone.hpp>

#include "engine/resolver.hpp"
#include "storage/library.hpp"
#include "tools/built_in_operation.hpp"
#include "tools/command_callback.hpp"
#include "tools/interruption.hpp"
#include "tools/own_isolation.hpp"

namespace hone::tools {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

struct Options {
  std::string operation = "gemm";
  std::vector<std::string> problems;
  std::string list;
  std::string database;
  double seconds = 60;
  std::uint64_t evaluations = 0;
  std::uint64_t patience = 0;
  bool again = false;
  bool isolate = false;
  bool json = false;
};

struct Line {
  std::string text;
  std::size_t number = 0;  // in the list; 0 for the command line
};

// The problems to tune, those of the command line first. Lines of a list that do not parse are told and counted.
std::vector<Problem> read_problems(const Options& options, const ProblemType& type, std::size_t& skipped) {
  std::vector<Line> lines;
  for (const std::string& text : options.problems) lines.push_back({text});
  if (!options.list.empty()) {
    std::ifstream file;
    if (options.list != "-") {
      file.open(options.list);
      if (!file)
        throw Error(Errc::invalid_option, fmt::format("{} cannot be read: {}", options.list, std::strerror(errno)));
    }
    std::istream& stream = options.list == "-" ? std::cin : file;
    std::string text;
    for (std::size_t number = 1; std::getline(stream, text); ++number) {
      const std::size_t begin = text.find_first_not_of(" \t\r");
      if (begin != std::string::npos && text[begin] != '#') lines.push_back({text, number});
    }
  }
  std::vector<Problem> problems;
  for (const Line& line : lines) {
    try {
      problems.push_back(Problem::parse(type, line.text));
    } catch (const Error& error) {
      if (line.number == 0) throw;
      ++skipped;
      fmt::print(stderr, "{}:{}: {}\n", options.list, line.number, error.what());
    }
  }
  return problems;
}

std::string time_text(duration<double, std::nano> time) {
  if (time.count() < 1e4) return fmt::format("{:.0f} ns", time.count());
  if (time.count() < 1e7) return fmt::format("{:.1f} us", time.count() / 1e3);
  return fmt::format("{:.2f} ms", time.count() / 1e6);
}

// One line on a terminal that is written over and over.
class ProgressLine {
 public:
  void show(const Progress& progress, std::size_t index, std::size_t count, const Options& options) {
    if (!terminal_) return;
    const double elapsed = duration<double>(progress.elapsed).count();
    double share = elapsed / options.seconds;
    if (options.evaluations > 0) {
      share = std::max(share, static_cast<double>(progress.evaluations) / static_cast<double>(options.evaluations));
    }
    share = std::clamp(share, 0.0, 1.0);
    constexpr int width = 24;
    const int filled = static_cast<int>(share * width);
    const double rate = elapsed > 0 ? static_cast<double>(progress.evaluations) / elapsed : 0;
    const std::string best = progress.best_timing.known() ? fmt::format("{} {}", to_string(progress.best),
                                                                        time_text(progress.best_timing.median))
                                                          : "-";
    fmt::print(stderr, "\r\033[K[{}/{}] {:#<{}}{:.<{}} {} evaluations, {:.1f}/s, at most {:.0f} s left, best {}", index,
               count, "", filled, "", width - filled, progress.evaluations, rate,
               std::max(0.0, options.seconds - elapsed), best);
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

EngineOptions engine_options(const Options& options) {
  EngineOptions result;
  result.policy = Policy::offline();
  if (options.isolate) result.policy.isolate = true;
  result.isolation_program = own_isolation_program();
  result.policy.max_tuning_time = std::chrono::duration_cast<nanoseconds>(duration<double>(options.seconds));
  if (options.again) result.policy.enforce = Enforce::search_db_update;
  if (options.evaluations > 0) result.policy.max_evaluations = options.evaluations;
  if (options.patience > 0) result.policy.patience = options.patience;
  if (!options.database.empty()) result.database = options.database;
  return result;
}

// The problems whose search in this environment came to its own end.
std::set<ProblemKey> tuned_before(const std::vector<Problem>& problems, const std::string& database,
                                  const Environment& environment) {
  std::set<ProblemKey> complete;
  storage::Library library({.user_database = database});
  for (const Problem& problem : problems) {
    const auto found = library.find(problem.key(), problem.text(), environment);
    if (found && found->match == storage::EnvironmentMatch::same && found->record.complete)
      complete.insert(problem.key());
  }
  return complete;
}

void print_result(const Problem& problem, const Solution& solution, std::uint64_t evaluations, bool json) {
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"problem", problem.text()},
                                              {"solver", solution.candidate().solver},
                                              {"configuration", solution.candidate().configuration},
                                              {"provenance", to_string(solution.provenance())},
                                              {"time_ns", solution.timing().median.count()},
                                              {"evaluations", evaluations}}
                           .dump());
  } else {
    fmt::print("{}: {} {}, {}\n", problem.text(), to_string(solution.candidate()), time_text(solution.timing().median),
               evaluations > 0 ? fmt::format("{} evaluations", evaluations)
                               : std::string("tuned completely before; --again repeats it"));
  }
  std::fflush(stdout);
}

int tune(const Options& options) {
  const auto operation = built_in_operation(options.operation);
  std::size_t skipped = 0;
  const std::vector<Problem> problems = read_problems(options, operation->problem_type(), skipped);
  if (problems.empty()) throw Error(Errc::invalid_option, "there is no problem to tune: give --problem or --list");

  const EngineOptions engine_settings = resolve(engine_options(options), environment_variables());
  std::set<ProblemKey> complete;
  if (!options.again && !engine_settings.database.value().empty()) {
    complete = tuned_before(problems, engine_settings.database, engine::environment_of(*host_device(), *operation));
  }
  Engine engine(engine_settings);
  engine.add(host_device());
  engine.add(operation);
  const Interruption interruption;
  ProgressLine line;
  int status = skipped > 0 ? 1 : 0;
  std::size_t index = 0;
  for (const Problem& problem : problems) {
    ++index;
    const std::uint64_t before = engine.statistics().trials;
    CallOptions call;
    if (complete.contains(problem.key())) call.find_mode = FindMode::fast;
    if (const Solution first = engine.find(problem, call); !first && !first.reason().ends_with("async_settle")) {
      fmt::print(stderr, "{}: {}\n", problem.text(), first.reason());
      status = 1;
      continue;
    }
    auto settled = engine.async_settle(problem, asio::use_future);
    while (settled.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready && !interruption.requested()) {
      for (const Progress& progress : engine.progress()) line.show(progress, index, problems.size(), options);
    }
    line.clear();
    if (interruption.requested()) {
      fmt::print(stderr, "interrupted; what was evaluated is kept, and the same command goes on\n");
      return 130;
    }
    print_result(problem, settled.get(), engine.statistics().trials - before, options.json);
  }
  return status;
}

}  // namespace

void add_tune_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tune", "Tune problems now, with all of the time, and store what was found");
  command->add_option("operation", options->operation, "The operation")->capture_default_str();
  command->add_option("--problem", options->problems, "A problem: \"m=16 n=768 k=3072\"; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--list", options->list,
                      "A file with one problem a line, # begins a comment; - for standard input");
  command->add_option("--database", options->database, "Directory of the database (default: HONE_DATABASE)");
  command->add_option("--seconds", options->seconds, "Wall time for each problem")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--evaluations", options->evaluations, "Evaluations for each problem (default: no limit)");
  command->add_option("--patience", options->patience,
                      "Evaluations without improvement that end a search (default: 200)");
  command->add_flag("--again", options->again, "Tune also what was tuned completely before");
  command->add_flag("--isolate", options->isolate,
                    "Measure in a process of its own, where a candidate that crashes or hangs harms nothing else");
  command->add_flag("--json", options->json, "Print a line of JSON for each problem");
  command->footer(
      "An interrupted search (Ctrl-C) keeps what it evaluated; the same command goes on from there.\n"
      "Examples:\n"
      "  hone tune gemm --problem \"m=16 n=768 k=3072\" --database tuned\n"
      "  hone tune --list shapes.txt --seconds 10 --json");
  set_callback(command, "hone tune", exit_status, [options] { return tune(*options); });
}

}  // namespace hone::tools
