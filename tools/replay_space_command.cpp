#include "tools/replay_space_command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <hone/error.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "workers/replay/search_replay.hpp"

namespace hone::tools {
namespace {

using workers::RecordedSpace;
using workers::SearchReplay;
using workers::SearchStep;
using Seconds = std::chrono::duration<double>;

struct Options {
  std::string path;
  std::string strategy{workers::strategy_names().front()};
  std::vector<std::size_t> evaluations = {25, 50, 100, 200};
  std::size_t repeats = 30;
  std::uint64_t seed = 1;
  double exploration = workers::StrategyOptions().exploration;
  std::string warm_start;
  std::size_t warm_count = 3;
  std::size_t warm_evaluations = 0;
  bool screening = false;
  std::size_t look_ahead = 0;
  double target = 1.05;
  std::uint64_t patience = 0;
  std::vector<std::string> kernels;
  std::vector<std::string> devices;
  bool warm_starts = false;
  bool json = false;
  unsigned threads = 1;
};

struct Spread {
  double mean = 0;
  double p90 = 0;
};

struct Score {
  std::size_t evaluations = 0;
  Spread found;
  double random = 0;      // expected of random search with as many evaluations
  Seconds device_time;    // what these take at random, on average
  Spread by_device_time;  // what was found within it
};

// What it took to come within the target of the optimum; searches that did not are counted with all they spent.
struct Reach {
  double share = 0;
  double evaluations = 0;
  Seconds device_time{0};
  Seconds wall_time{0};
};

struct SpaceScore {
  std::string space;
  std::vector<Score> scores;
  Reach reach;
  std::map<std::string, std::size_t> stops;  // searches by the reason why they stopped
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Spread spread;
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  // The smallest value that 90 % of the values do not exceed.
  const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(values.size())));
  spread.p90 = values[std::max<std::size_t>(rank, 1) - 1];
  return spread;
}

// What a search can know from another device.
struct WarmStart {
  std::vector<Configuration> first;
  std::vector<workers::PriorTrial> prior;
};

// Of all that is recorded, or of what a search of so many evaluations would have measured there.
std::vector<workers::PriorTrial> trials_of(const RecordedSpace& recorded, const Options& options) {
  const auto trial_at = [&](std::size_t row, Configuration configuration) {
    const RecordedSpace::Row& found = recorded.rows()[row];
    std::optional<workers::Strategy::Time> time;
    if (found.status == workers::RecordedStatus::ok) time = found.mean;
    return workers::PriorTrial{std::move(configuration), time};
  };
  std::vector<workers::PriorTrial> trials;
  if (options.warm_evaluations == 0) {
    for (std::size_t row = 0; row < recorded.rows().size(); ++row) {
      trials.push_back(trial_at(row, recorded.configuration(row)));
    }
    return trials;
  }
  const auto strategy = workers::make_strategy(options.strategy, recorded.space(), {.seed = options.seed});
  while (trials.size() < options.warm_evaluations) {
    auto next = strategy->suggest();
    if (!next) break;
    trials.push_back(trial_at(*recorded.row_of(*next), *next));
    strategy->observe(trials.back().configuration, trials.back().time);
  }
  return trials;
}

WarmStart warm_start(const Options& options, const SearchSpace& space) {
  const RecordedSpace other = RecordedSpace::read(options.warm_start);
  WarmStart start;
  for (workers::PriorTrial& trial : trials_of(other, options)) {
    auto known = space.parse(trial.configuration.text());
    if (known) start.prior.push_back({std::move(*known), trial.time});
  }
  std::vector<workers::PriorTrial> fastest;
  std::ranges::copy_if(start.prior, std::back_inserter(fastest),
                       [](const auto& trial) { return trial.time.has_value(); });
  std::ranges::stable_sort(fastest, {}, [](const auto& trial) { return *trial.time; });
  for (const auto& trial : fastest | std::views::take(options.warm_count)) start.first.push_back(trial.configuration);
  if (start.first.empty()) {
    throw Error(Errc::invalid_option,
                fmt::format("'{}' shares no configuration that runs with the space; choose one of the same kernel",
                            options.warm_start));
  }
  return start;
}

// All repeats, spread over threads; each repeat's seed follows from the first seed.
std::vector<SearchReplay> searches(const std::shared_ptr<const RecordedSpace>& space, const Options& options,
                                   const WarmStart& start) {
  std::vector<SearchReplay> all(options.repeats);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < all.size(); i = next++) {
        const auto strategy = workers::make_strategy(
            options.strategy, space->space(),
            {.seed = options.seed + i, .first = start.first, .exploration = options.exploration, .prior = start.prior});
        const std::size_t most = *std::max_element(options.evaluations.begin(), options.evaluations.end());
        all[i] = workers::replay_search(space, *strategy,
                                        {.stop = {.evaluations = most, .patience = options.patience},
                                         .screening = options.screening,
                                         .look_ahead = options.look_ahead});
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      failure = std::current_exception();
      next = all.size();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return all;
}

Reach reach(const std::vector<SearchReplay>& all, double target) {
  Reach reach;
  const double share = 1 / static_cast<double>(all.size());
  for (const auto& [steps, stop] : all) {
    auto step = std::find_if(steps.begin(), steps.end(), [&](const SearchStep& s) { return s.ratio <= target; });
    if (step != steps.end()) {
      reach.share += share;
    } else {
      --step;
    }
    reach.evaluations += share * static_cast<double>(step - steps.begin() + 1);
    reach.device_time += share * Seconds(step->device_time);
    reach.wall_time += share * Seconds(step->wall_time);
  }
  return reach;
}

SpaceScore score(const std::string& file, const Options& options) {
  const auto space = std::make_shared<const RecordedSpace>(RecordedSpace::read(file));
  const auto all =
      searches(space, options, options.warm_start.empty() ? WarmStart{} : warm_start(options, space->space()));
  SpaceScore result{space->name(), {}, reach(all, options.target), {}};
  for (const SearchReplay& replay : all) {
    ++result.stops[std::string(symbols(replay.stop)[static_cast<std::size_t>(replay.stop)])];
  }
  const double worst = space->worst() / space->best();
  for (const std::size_t evaluations : options.evaluations) {
    Score score{evaluations,
                {},
                workers::expected_random_ratio(*space, evaluations),
                workers::expected_device_time(*space, evaluations),
                {}};
    std::vector<double> found;
    std::vector<double> by_device_time;
    for (const auto& [steps, stop] : all) {
      found.push_back(steps[std::min(evaluations, steps.size()) - 1].ratio);
      const auto beyond = std::find_if(steps.begin(), steps.end(),
                                       [&](const SearchStep& s) { return Seconds(s.device_time) > score.device_time; });
      by_device_time.push_back(beyond == steps.begin() ? worst : (beyond - 1)->ratio);
    }
    score.found = spread(found);
    score.by_device_time = spread(by_device_time);
    result.scores.push_back(score);
  }
  return result;
}

nlohmann::ordered_json to_json(const SpaceScore& space, const Options& options) {
  nlohmann::ordered_json json = {{"space", space.space}, {"strategy", options.strategy}};
  for (const Score& s : space.scores) {
    json["evaluations"][std::to_string(s.evaluations)] = {
        {"mean", s.found.mean}, {"p90", s.found.p90}, {"random", s.random}};
    json["device_time"][std::to_string(s.evaluations)] = {
        {"seconds", s.device_time.count()}, {"mean", s.by_device_time.mean}, {"p90", s.by_device_time.p90}};
  }
  json["target"] = {{"ratio", options.target},
                    {"reached", space.reach.share},
                    {"evaluations", space.reach.evaluations},
                    {"device_seconds", space.reach.device_time.count()},
                    {"wall_seconds", space.reach.wall_time.count()}};
  json["stopped"] = space.stops;
  return json;
}

void print(const SpaceScore& space, const Options& options) {
  fmt::print("{}, strategy {}, {} searches: found / optimum\n", space.space, options.strategy, options.repeats);
  fmt::print("{:>12} {:>8} {:>8} {:>8} | {:>14} {:>8} {:>8}\n", "evaluations", "mean", "p90", "random", "device time",
             "mean", "p90");
  for (const Score& s : space.scores) {
    fmt::print("{:>12} {:>8.4f} {:>8.4f} {:>8.4f} | {:>12.3f} s {:>8.4f} {:>8.4f}\n", s.evaluations, s.found.mean,
               s.found.p90, s.random, s.device_time.count(), s.by_device_time.mean, s.by_device_time.p90);
  }
  fmt::print(
      "within {:.2f} of the optimum: {:.0f} % of the searches, on average after {:.1f} evaluations, {:.3f} s of "
      "device time, {:.1f} s with compiling\n",
      options.target, 100 * space.reach.share, space.reach.evaluations, space.reach.device_time.count(),
      space.reach.wall_time.count());
  for (const auto& [reason, count] : space.stops) fmt::print("stopped by {}: {}\n", reason, count);
}

void run_space(const Options& options) {
  const SpaceScore space = score(options.path, options);
  if (options.json) {
    fmt::print("{}\n", to_json(space, options).dump(2));
  } else {
    print(space, options);
  }
}

struct Geomean {
  double found = 0;
  double random = 0;
};

// Of all spaces at the given place of their scores.
Geomean geomean(const std::vector<SpaceScore>& spaces, std::size_t place) {
  Geomean logs;
  for (const SpaceScore& space : spaces) {
    logs.found += std::log(space.scores[place].found.mean) / static_cast<double>(spaces.size());
    logs.random += std::log(space.scores[place].random) / static_cast<double>(spaces.size());
  }
  return {std::exp(logs.found), std::exp(logs.random)};
}

struct SpaceFile {
  std::filesystem::path path;
  std::string kernel, device;
};

// KERNEL__DEVICE.csv of the chosen kernels and devices.
std::vector<SpaceFile> files_of(const Options& options) {
  std::vector<SpaceFile> files;
  if (!std::filesystem::is_directory(options.path)) {
    throw Error(Errc::invalid_option, fmt::format("'{}' is not a directory", options.path));
  }
  const auto chosen = [](const std::vector<std::string>& among, const std::string& name) {
    return among.empty() || std::ranges::find(among, name) != among.end();
  };
  for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
    const std::string name = entry.path().stem().string();
    const std::size_t separator = name.find("__");
    if (separator == std::string::npos || entry.path().extension() != ".csv") continue;
    SpaceFile file{entry.path(), name.substr(0, separator), name.substr(separator + 2)};
    if (chosen(options.kernels, file.kernel) && chosen(options.devices, file.device)) files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &SpaceFile::path);
  if (files.empty()) throw Error(Errc::invalid_option, fmt::format("'{}' has no such files", options.path));
  return files;
}

// The searches to score: one of each space, or one for each other device that it can begin from.
std::vector<std::pair<SpaceFile, std::string>> starts_of(const Options& options) {
  const std::vector<SpaceFile> files = files_of(options);
  std::vector<std::pair<SpaceFile, std::string>> starts;
  for (const SpaceFile& file : files) {
    if (!options.warm_starts) starts.emplace_back(file, "");
    for (const SpaceFile& other : files) {
      if (options.warm_starts && other.kernel == file.kernel && other.device != file.device) {
        starts.emplace_back(file, other.path.string());
      }
    }
  }
  if (starts.empty()) throw Error(Errc::invalid_option, "no two of these files are of the same kernel");
  return starts;
}

void run_spaces(const Options& options) {
  std::vector<SpaceScore> spaces;
  const int width = options.warm_starts ? 68 : 34;
  if (!options.json) {
    fmt::print("found / optimum, mean of {} searches with strategy {} (expected of random search)\n{:{}}",
               options.repeats, options.strategy, "", width);
    for (const std::size_t evaluations : options.evaluations) fmt::print(" {:>17}", evaluations);
    fmt::print("\n");
  }
  for (const auto& [file, from] : starts_of(options)) {
    Options start = options;
    start.warm_start = from;
    spaces.push_back(score(file.path.string(), start));
    if (!from.empty()) spaces.back().space += " <- " + std::filesystem::path(from).stem().string();
    if (options.json) continue;
    fmt::print("{:{}}", spaces.back().space, width);
    for (const Score& s : spaces.back().scores) fmt::print("  {:>7.4f} ({:.4f})", s.found.mean, s.random);
    fmt::print("\n");
  }
  nlohmann::ordered_json json;
  for (const SpaceScore& space : spaces) json["spaces"].push_back(to_json(space, options));
  if (!options.json) fmt::print("{:{}}", "geometric mean", width);
  for (std::size_t i = 0; i < options.evaluations.size(); ++i) {
    const Geomean mean = geomean(spaces, i);
    json["geomean"][std::to_string(options.evaluations[i])] = {{"found", mean.found}, {"random", mean.random}};
    if (!options.json) fmt::print("  {:>7.4f} ({:.4f})", mean.found, mean.random);
  }
  fmt::print("{}\n", options.json ? json.dump(2) : "");
}

void add_common(CLI::App& command, const std::shared_ptr<Options>& options) {
  std::vector<std::string> names(workers::strategy_names().begin(), workers::strategy_names().end());
  command.add_option("--strategy", options->strategy, "Search strategy")->check(CLI::IsMember(names));
  command.add_option("--evaluations", options->evaluations, "Budgets to report, as in 25,50,100,200")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000000));
  command.add_option("--repeats", options->repeats, "Searches per space, each with a seed of its own")
      ->check(CLI::Range(1, 100000));
  command.add_option("--seed", options->seed, "Seed of the first search");
  command.add_option("--exploration", options->exploration, "Share of suggestions drawn at random")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--patience", options->patience, "Stop after so many evaluations without improvement");
  command
      .add_option("--look-ahead", options->look_ahead,
                  "Suggest and compile so many candidates before earlier outcomes are known")
      ->check(CLI::Range(0, 64));
  command.add_flag("--screening", options->screening,
                   "Drop a candidate as soon as its first runs are all slower than the best one's");
  command.add_option("--target", options->target, "Report what it takes to come within this ratio of the optimum")
      ->check(CLI::Range(1.0, 1000.0));
  command.add_option("--threads", options->threads, "Searches that run at the same time")->check(CLI::Range(1, 256));
  command.add_option("--warm-count", options->warm_count, "So many of the fastest of a warm start go first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      .add_option("--warm-evaluations", options->warm_evaluations,
                  "A warm start knows only what a search of so many evaluations measured; all of it when left out")
      ->check(CLI::Range(1, 1000000));
  command.add_flag("--json", options->json, "Print JSON");
}

}  // namespace

void add_replay_space_commands(CLI::App& replay, int& exit_status) {
  CLI::App* space = replay.add_subcommand("space", "Score a search strategy on one recorded space");
  const auto one = std::make_shared<Options>();
  space->add_option("file", one->path, "KERNEL__DEVICE.csv")->required()->check(CLI::ExistingFile);
  add_common(*space, one);
  space->add_option("--warm-start", one->warm_start, "Begin with what is known from this recorded space")
      ->check(CLI::ExistingFile);
  space->callback([one, &exit_status] {
    run_space(*one);
    exit_status = 0;
  });

  CLI::App* spaces = replay.add_subcommand("spaces", "Score a search strategy on all recorded spaces of a directory");
  const auto all = std::make_shared<Options>();
  spaces->add_option("directory", all->path, "Holds files KERNEL__DEVICE.csv")->required();
  add_common(*spaces, all);
  spaces->add_option("--kernels", all->kernels, "Only the spaces of these kernels, as in gemm,convolution")
      ->delimiter(',');
  spaces->add_option("--devices", all->devices, "Only those of these devices, as in A100,A4000")->delimiter(',');
  spaces->add_flag("--warm-starts", all->warm_starts,
                   "Begin each with what is known from each other device of its kernel");
  spaces->callback([all, &exit_status] {
    run_spaces(*all);
    exit_status = 0;
  });
}

}  // namespace hone::tools
