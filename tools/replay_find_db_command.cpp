#include "tools/replay_find_db_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/find_db_replay.hpp"
#include "tools/find_db_text.hpp"

namespace hone::tools {
namespace {

struct Options {
  std::string recorded;
  std::string measured;
  ReplayOptions replay;
  bool json = false;
};

// Nothing when the file cannot be read; rejected lines are told on standard error.
std::optional<FindDbText> read(const std::string& path, int& exit_status) {
  std::ifstream input(path);
  if (!input) {
    fmt::print(stderr, "hone replay find-db: {}: {}\n", path, std::strerror(errno));
    return {};
  }
  FindDbText text = read_find_db(input);
  constexpr std::size_t shown = 10;
  for (std::size_t i = 0; i < std::min(shown, text.rejected.size()); ++i) {
    fmt::print(stderr, "{}:{}: {}\n", path, text.rejected[i].line, text.rejected[i].reason);
  }
  if (!text.rejected.empty()) {
    exit_status = 1;
    fmt::print(stderr, "{}: {} lines used, {} rejected\n", path, text.records.size(), text.rejected.size());
  }
  return text;
}

nlohmann::ordered_json to_json(const ReplayScore& score) {
  return {{"keys", score.keys},
          {"evaluations_per_key", score.evaluations_per_key},
          {"tuned_share", score.tuned_share},
          {"slower_5", score.slower_5},
          {"slower_15", score.slower_15},
          {"geomean_regret", score.geomean_regret}};
}

void print_row(std::string_view name, const ReplayScore& score) {
  fmt::print("{:<10} {:>8} {:>12.3f} {:>8.2f} % {:>10.2f} % {:>10.2f} % {:>10.4f}\n", name, score.keys,
             score.evaluations_per_key, 100 * score.tuned_share, 100 * score.slower_5, 100 * score.slower_15,
             score.geomean_regret);
}

void run(const Options& options, int& exit_status) {
  const auto recorded = read(options.recorded, exit_status);
  const auto measured = read(options.measured, exit_status);
  if (!recorded || !measured) {
    exit_status = 2;
    return;
  }
  const ReplayScore policy = replay_policy(*recorded, *measured, options.replay);
  const ReplayScore bare = replay_bare_rule(*recorded, *measured, options.replay);
  if (policy.keys == 0) {
    fmt::print(stderr, "hone replay find-db: the files have no key in common that has a time for every entry\n");
    exit_status = 2;
    return;
  }
  if (options.json) {
    auto result = to_json(policy);
    result["naive"] = to_json(bare);
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{:<10} {:>8} {:>12} {:>10} {:>12} {:>12} {:>10}\n", "POLICY", "KEYS", "EVALUATIONS", "TUNED",
             ">= 5 % SLOW", ">= 15 % SLOW", "REGRET");
  print_row("hone", policy);
  print_row("naive", bare);
}

}  // namespace

void add_replay_find_db_command(CLI::App& replay, int& exit_status) {
  CLI::App* command = replay.add_subcommand(
      "find-db", "Score the verification policy on two MIOpen find-db text files: records of one, times of the other");
  auto options = std::make_shared<Options>();
  command->add_option("--recorded", options->recorded, "The find-db that plays the system database")->required();
  command->add_option("--measured", options->measured, "The find-db whose times this machine measures")->required();
  command->add_option("--tolerance", options->replay.tolerance, "Accepted excess of measured over expected time")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command->add_option("--candidates", options->replay.candidates, "Recorded candidates evaluated at most for a key")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option("--most-tuned", options->replay.most_tuned,
                   "Share of the keys that may be tuned; 1 for records of another architecture")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit_status] { run(*options, exit_status); });
}

}  // namespace hone::tools
