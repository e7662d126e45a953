// Policies: the find mode and all knobs.
//
// Precedence: a preset's value < the environment variable < a value that the program set < a per-call option. Assigning
// to a knob marks it as set by the program:
//
//   hone::Policy policy = hone::Policy::serving();
//   policy.tolerance = 0.10;                         // beats HONE_TOLERANCE
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hone {

// What the background does for a problem; the foreground is immediate in every mode. See README, "Find modes".
enum class FindMode : std::uint8_t { fast, normal, hybrid, dynamic_hybrid, trust_verify, trust_verify_full };
constexpr std::array<std::string_view, 6> symbols(FindMode) noexcept {
  return {"fast", "normal", "hybrid", "dynamic_hybrid", "trust_verify", "trust_verify_full"};
}

// What is done to stored records, independent of the find mode.
enum class Enforce : std::uint8_t { none, search, db_update, search_db_update, db_clean };
constexpr std::array<std::string_view, 5> symbols(Enforce) noexcept {
  return {"none", "search", "db_update", "search_db_update", "db_clean"};
}

// Who decides that an upgrade is published: the engine, or the program, which is offered it in an event.
enum class Adopt : std::uint8_t { automatic, ask };
constexpr std::array<std::string_view, 2> symbols(Adopt) noexcept { return {"automatic", "ask"}; }

// What the caches hold when a launch is timed: what the launch before it left there, or nothing of use.
enum class CacheState : std::uint8_t { warm, cold };
constexpr std::array<std::string_view, 2> symbols(CacheState) noexcept { return {"warm", "cold"}; }

enum class LogLevel : std::uint8_t { trace, debug, info, warning, error, off };
constexpr std::array<std::string_view, 6> symbols(LogLevel) noexcept {
  return {"trace", "debug", "info", "warning", "error", "off"};
}

// Where a knob's value comes from.
enum class Origin : std::uint8_t { preset, environment, program, call };
constexpr std::array<std::string_view, 4> symbols(Origin) noexcept {
  return {"preset", "environment", "program", "call"};
}

// A value with its origin.
template <class T>
class Knob {
 public:
  Knob() = default;
  template <std::convertible_to<T> U>
  requires(!std::same_as<std::remove_cvref_t<U>, Knob>) Knob(U&& value)
      : value_(std::forward<U>(value)), origin_(Origin::program) {}  // NOLINT: policy.tolerance = 0.1
  Knob(T value, Origin origin) : value_(std::move(value)), origin_(origin) {}
  operator const T&() const noexcept { return value_; }  // NOLINT
  const T& value() const noexcept { return value_; }
  Origin origin() const noexcept { return origin_; }

 private:
  T value_{};
  Origin origin_ = Origin::preset;
};

inline constexpr std::uint64_t unlimited = UINT64_MAX;

struct Policy {
  Knob<FindMode> find_mode;
  Knob<Enforce> enforce;
  // Accepted excess of measured over reported time: 0.15 accepts up to 1.15.
  Knob<double> tolerance;
  // A rival within this share of the incumbent's time is a tie, and ties keep the incumbent.
  Knob<double> tie_margin;
  // Candidates evaluated by a verification, the claimed one included.
  Knob<std::uint64_t> verify_candidates;
  // Whether tuning searches the solvers' spaces or only chooses between solvers.
  Knob<bool> tune_parameters;
  // Evaluations without improvement after which a search stops.
  Knob<std::uint64_t> patience;
  // Wall time and evaluations that tuning one problem may take.
  Knob<std::chrono::nanoseconds> max_tuning_time;
  Knob<std::uint64_t> max_evaluations;
  // Share of wall time, in (0, 1], that each worker may be busy.
  Knob<double> background_share;
  // Bytes of device memory for each worker's private buffers.
  Knob<std::uint64_t> max_buffer_bytes;
  // Whether stored user records are verified again, once a process.
  Knob<bool> revalidate_user_records;
  // Whether an upgrade is published as soon as it is durable, or offered first (EventKind::offered).
  Knob<Adopt> adopt;
  // The caches in measurements. A time taken with others is not compared with one taken with these.
  Knob<CacheState> cache_state;
  // A job that is not expected to save, within this time, as much time as it costs is left undone unless a caller waits
  // for it. Unlimited: every job is done.
  Knob<std::chrono::nanoseconds> payback_time;
  // Whether candidates are measured in a process of their own (EngineOptions::isolation_program), where one that
  // crashes, hangs or damages memory costs nothing else.
  Knob<bool> isolate;

  // The default: forgiving, small budgets, a tenth of the time in the background.
  static Policy serving();
  // Tight tolerance, long patience, stored user records verified again: an inference framework's benchmark switch.
  static Policy benchmark();
  // Reproducible: the database decides, nothing is measured, nothing changes.
  static Policy frozen();
  // Tune everything now, with all of the time.
  static Policy offline();
};

// A per-call choice of knobs; those left out are the engine's. The device always counts, the knobs when the
// background's work is planned: at the first sight of the problem.
struct CallOptions {
  // Name of a device; "" for the first one added. The characters must live until the call returns, with a deferred
  // completion token until the operation starts.
  std::string_view device;
  std::optional<FindMode> find_mode;
  std::optional<Enforce> enforce;
  std::optional<double> tolerance;
  std::optional<std::chrono::nanoseconds> max_tuning_time;
  std::optional<std::uint64_t> max_evaluations;
  std::optional<bool> tune_parameters;
};

// One knob as `hone config` prints it.
struct KnobDescription {
  std::string name;      // "tolerance"
  std::string variable;  // "HONE_TOLERANCE"
  std::string value;     // "0.15"
  Origin origin = Origin::preset;
  std::string accepts;  // "a number from 0 to 10"
  std::string meaning;
};

// The environment as read for configuration: name -> value of every variable that starts with "HONE_".
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables environment_variables();

// The policy with the variables applied to every knob that the program did not set, and all values checked.
// Throws Error(invalid_option) naming the variable or knob and the accepted values, also for an unknown HONE_ variable.
// An engine does this for its options.
Policy resolve(Policy policy, const Variables& variables);

}  // namespace hone
