#include "workers/replay/search_replay.hpp"

#include <algorithm>
#include <deque>
#include <hone/error.hpp>
#include <optional>
#include <vector>

#include "workers/replay/replay_device.hpp"

namespace hone::workers {
namespace {

// One search's device, and what was spent on it.
class Bench {
 public:
  explicit Bench(const std::shared_ptr<const RecordedSpace>& space)
      : space_(space),
        operation_(replay_operation(space)),
        problem_(Problem::parse(operation_->problem_type(), "")),
        clock_(std::make_shared<VirtualClock>()),
        device_("replay", clock_),
        stream_(device_.make_stream(StreamPriority::background)) {}

  struct Result {
    std::optional<Strategy::Time> time;
    bool complete = false;  // all runs were taken
    std::optional<Strategy::Time> warm_up = {};
    std::optional<Strategy::Time> first = {};  // the run after it
    Strategy::Time steady{0};                  // mean of all runs after the warm-up
  };

  // `best` is the best complete result so far, if any.
  Result evaluate(const Configuration& configuration, const SearchReplayOptions& options,
                  const std::optional<Result>& best) {
    std::shared_ptr<const Invoker> invoker;
    try {
      invoker = operation_->solvers()[0]->prepare(problem_, configuration, device_);
    } catch (const Error&) {
      return {};  // a recorded failure to compile
    }
    const std::size_t runs = space_->rows()[*space_->row_of(configuration)].run_count;
    Result result;
    std::chrono::nanoseconds sum{0};
    std::size_t taken = 0;
    const auto run = [&](std::size_t count) {
      std::chrono::nanoseconds elapsed{0};
      const auto error = stream_->time([&] { return invoker->run(*stream_, {}); }, static_cast<int>(count), elapsed);
      device_time_ += elapsed;
      sum += elapsed;
      taken += count;
      return error ? std::nullopt : std::optional(Strategy::Time(elapsed));
    };
    if (options.screening) {
      result.warm_up = run(1);
      if (!result.warm_up) return {};
      if (best && *result.warm_up > *best->warm_up * options.gates.warm_up) {
        result.time = *best->time * (*result.warm_up / *best->warm_up);
        return result;
      }
      if (runs > 1) {
        result.first = run(1);
        if (best && best->first && *result.first > *best->first * options.gates.run) {
          result.time = *best->time * (*result.first / *best->first);
          return result;
        }
        Strategy::Time least = *result.first;
        for (const auto& look : options.gates.race) {
          if (!best || runs <= 1 + look.runs) break;
          while (taken < 1 + look.runs) {
            const auto time = run(1);
            if (!time) return {};
            least = std::min(least, *time);
          }
          if (least > best->steady * look.factor) {
            result.time = *best->time * (least / best->steady);
            return result;
          }
        }
      }
    }
    if (taken < std::max<std::size_t>(runs, 1) && !run(std::max<std::size_t>(runs, 1) - taken)) return {};
    result.time = Strategy::Time(sum) / static_cast<double>(taken);
    result.complete = true;
    const bool warmed_up = result.warm_up && taken > 1;
    result.steady = warmed_up ? (Strategy::Time(sum) - *result.warm_up) / static_cast<double>(taken - 1) : *result.time;
    return result;
  }

  std::chrono::nanoseconds device_time() const { return device_time_; }

 private:
  std::shared_ptr<const RecordedSpace> space_;
  std::shared_ptr<const Operation> operation_;
  Problem problem_;
  std::shared_ptr<VirtualClock> clock_;
  ReplayDevice device_;
  std::unique_ptr<Stream> stream_;
  std::chrono::nanoseconds device_time_{0};
};

// What a clock on the wall shows while one thread measures and others compile.
class WallTime {
 public:
  explicit WallTime(std::size_t compile_threads) : free_(compile_threads) {}

  // When a candidate that is suggested now will be compiled; without threads that waits for its turn.
  std::chrono::nanoseconds compiled(std::chrono::nanoseconds compile) {
    if (free_.empty()) return std::chrono::nanoseconds{0};
    const auto thread = std::min_element(free_.begin(), free_.end());
    *thread = std::max(*thread, now_) + compile;
    return *thread;
  }
  void measure(std::chrono::nanoseconds ready, std::chrono::nanoseconds compile, std::chrono::nanoseconds runs) {
    now_ = free_.empty() ? now_ + compile + runs : std::max(now_, ready) + runs;
  }
  std::chrono::nanoseconds now() const { return now_; }

 private:
  std::vector<std::chrono::nanoseconds> free_;  // of each thread: from when on
  std::chrono::nanoseconds now_{0};
};

struct Suggestion {
  Configuration configuration;
  std::chrono::nanoseconds compile{0};
  std::chrono::nanoseconds ready{0};
};

}  // namespace

SearchReplay replay_search(const std::shared_ptr<const RecordedSpace>& space, Strategy& strategy,
                           const SearchReplayOptions& options) {
  Bench bench(space);
  SearchReplay replay;
  SearchProgress progress;
  std::optional<Bench::Result> best;
  double ratio = space->worst() / space->best();
  WallTime wall(options.look_ahead);
  std::deque<Suggestion> ahead;
  const auto row_of = [&](const Configuration& c) -> const RecordedSpace::Row& {
    return space->rows()[*space->row_of(c)];
  };
  while ((replay.stop = stop_reason(options.stop, progress)) == StopReason::none) {
    while (ahead.size() <= options.look_ahead) {
      const auto next = strategy.suggest();
      if (!next) break;
      const auto compile = std::chrono::round<std::chrono::nanoseconds>(row_of(*next).compile);
      ahead.push_back({*next, compile, wall.compiled(compile)});
    }
    if (ahead.empty()) {
      replay.stop = StopReason::exhausted;
      break;
    }
    const Suggestion next = std::move(ahead.front());
    ahead.pop_front();
    const std::chrono::nanoseconds before = bench.device_time();
    const Bench::Result result = bench.evaluate(next.configuration, options, best);
    wall.measure(next.ready, next.compile, bench.device_time() - before);
    strategy.observe(next.configuration, result.time);
    progress.add(result.complete ? result.time : std::nullopt);
    progress.elapsed = wall.now();
    if (result.complete && result.time && (!best || *result.time < *best->time)) {
      best = result;
      ratio = row_of(next.configuration).mean / space->best();
    }
    replay.steps.push_back({ratio, bench.device_time(), wall.now()});
  }
  return replay;
}

double expected_random_ratio(const RecordedSpace& space, std::size_t evaluations) {
  const auto ranking = space.ranking();
  const std::size_t rows = space.rows().size();
  const std::size_t draws = std::min(evaluations, rows);
  // P(none of the i fastest is drawn) = C(rows - i, draws) / C(rows, draws), updated from one i to the next.
  double none = 1;
  double expected = 0;
  for (std::size_t i = 0; i < ranking.size() && none > 0; ++i) {
    const auto left = static_cast<double>(rows - i);
    const double next = none * std::max(0.0, left - static_cast<double>(draws)) / left;
    expected += (none - next) * (space.rows()[ranking[i]].mean / space.best());
    none = next;
  }
  return expected + none * (space.worst() / space.best());
}

std::chrono::nanoseconds expected_device_time(const RecordedSpace& space, std::size_t evaluations) {
  RecordedSpace::Milliseconds sum{0};
  for (const RecordedSpace::Row& row : space.rows()) {
    for (const auto run : space.runs(row)) sum += run;
  }
  return std::chrono::round<std::chrono::nanoseconds>(sum * static_cast<double>(evaluations) /
                                                      static_cast<double>(space.rows().size()));
}

}  // namespace hone::workers
