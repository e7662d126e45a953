#include "workers/search/stop_rule.hpp"

namespace hone::workers {

void SearchProgress::add(std::optional<Strategy::Time> time) noexcept {
  ++evaluations;
  if (time && (!best || *time < *best)) {
    best = time;
    without_improvement = 0;
  } else {
    ++without_improvement;
  }
}

StopReason stop_reason(const StopRule& rule, const SearchProgress& progress) noexcept {
  if (rule.target && progress.best && *progress.best <= *rule.target) return StopReason::target;
  if (rule.evaluations > 0 && progress.evaluations >= rule.evaluations) return StopReason::evaluations;
  if (rule.wall_time.count() > 0 && progress.elapsed >= rule.wall_time) return StopReason::wall_time;
  if (rule.patience > 0 && progress.without_improvement >= rule.patience) return StopReason::patience;
  return StopReason::none;
}

}  // namespace hone::workers
