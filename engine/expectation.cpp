#include "engine/expectation.hpp"

#include <algorithm>

namespace hone::engine {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;
using Seconds = duration<double>;

double typical_saving(const Expectation& expectation) noexcept {
  if (expectation.drifted) return 0.2;
  switch (expectation.known) {
    case Provenance::fallback:
      return 0.5;
    case Provenance::model:
      return 0.2;
    case Provenance::system:
      return 0.2;
    case Provenance::hint:
      return 0.1;
    case Provenance::user:
      return 0.02;
  }
  return 0;
}

// Where no time is known.
constexpr duration<double, std::nano> guessed_time = std::chrono::microseconds(100);
// A problem that was asked for once, just now, counts as asked for once a second.
constexpr nanoseconds shortest_span = std::chrono::seconds(1);
constexpr nanoseconds longest_count = std::chrono::minutes(1);
constexpr double asked_boost = 1e30;  // above any saving

// Of a candidate: preparing and checking it, then some twenty launches.
constexpr nanoseconds fixed_cost = std::chrono::milliseconds(2);
constexpr double launches_per_evaluation = 20;

duration<double, std::nano> time_of(const Expectation& expectation) noexcept {
  return expectation.time.count() > 0 ? expectation.time : guessed_time;
}

}  // namespace

double expected_saving(const Expectation& expectation) noexcept {
  const Seconds span = std::max(expectation.span, shortest_span);
  const double counted = static_cast<double>(expectation.finds) / span.count();
  const double rate = expectation.bound ? std::max(counted, bound_rate) : counted;
  return rate * Seconds(time_of(expectation)).count() * typical_saving(expectation);
}

double priority(const Expectation& expectation) noexcept {
  const double saving = expected_saving(expectation);
  return expectation.asked ? asked_boost * (1 + saving) : saving;
}

nanoseconds expected_cost(Task task, const Expectation& expectation, const Policy& policy) noexcept {
  if (task == Task::none) return nanoseconds::zero();
  const auto evaluations =
      static_cast<double>(task == Task::verify ? policy.verify_candidates.value()
                                               : std::min(policy.max_evaluations.value(),
                                                          std::min<std::uint64_t>(policy.patience, 1'000'000)));
  const auto each = fixed_cost + launches_per_evaluation * time_of(expectation);
  const Seconds cost = std::min<Seconds>(evaluations * each, policy.max_tuning_time.value());
  return std::chrono::duration_cast<nanoseconds>(cost);
}

bool pays(Task task, const Expectation& expectation, const Policy& policy) noexcept {
  if (expectation.asked || policy.enforce != Enforce::none) return true;
  if (policy.payback_time.value() == nanoseconds::max()) return true;
  const double saved = expected_saving(expectation) * Seconds(policy.payback_time.value()).count();
  return saved >= Seconds(expected_cost(task, expectation, policy)).count();
}

Recount recount(std::uint64_t finds, nanoseconds span) noexcept {
  if (span > longest_count) return {.anew = true};
  return {.ask_again_at = 2 * finds};
}

}  // namespace hone::engine
