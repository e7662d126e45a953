// Searches of recorded spaces in virtual time, and how good they are.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workers/replay/recorded_space.hpp"
#include "workers/search/stop_rule.hpp"
#include "workers/search/strategy.hpp"

namespace hone::workers {

// Two gates before all runs of a candidate are taken: it is dropped when its warm-up run is beyond `warm_up` times the
// warm-up run of the best one so far, or the run after it is beyond `run` times the best one's. Like is compared with
// like: where clocks wake up slowly, first runs take several times the mean. Then it races: it is dropped when
// every one of its first runs was beyond the mean of the best one's, by a factor that falls as runs are added.
struct ScreeningGates {
  double warm_up = 2.0;
  double run = 1.5;
  struct Look {
    std::size_t runs;  // after the warm-up
    double factor;
  };
  std::array<Look, 2> race{{{3, 1.1}, {6, 1.03}}};
};

struct SearchReplayOptions {
  StopRule stop = {.evaluations = 200};
  bool screening = false;
  ScreeningGates gates = {};
  // So many candidates are suggested, and compiled on a thread each, before the outcome of the one before them is
  // known.
  std::size_t look_ahead = 0;
};

// After one more evaluation, failed ones included.
struct SearchStep {
  double ratio = 0;                         // best found over optimum, by recorded means; the worst while nothing ran
  std::chrono::nanoseconds device_time{0};  // of all runs so far
  std::chrono::nanoseconds wall_time{0};    // runs and compiling, the one during the other where it looks ahead
};

struct SearchReplay {
  std::vector<SearchStep> steps;
  StopReason stop = StopReason::none;
};

// Searches until the rule says stop or the strategy has nothing left. Wall time is the virtual one.
SearchReplay replay_search(const std::shared_ptr<const RecordedSpace>& space, Strategy& strategy,
                           const SearchReplayOptions& options);

// The exact expected ratio of random search: of the best of `evaluations` rows drawn without replacement, failed rows
// included; a draw of failed rows alone counts as the worst.
double expected_random_ratio(const RecordedSpace& space, std::size_t evaluations);

// The device time that `evaluations` rows drawn at random take on average with all their runs.
std::chrono::nanoseconds expected_device_time(const RecordedSpace& space, std::size_t evaluations);

}  // namespace hone::workers
