// What the background's work on a problem is expected to save and to cost: pure functions. Rough on purpose: they order
// jobs and leave out the hopeless ones; what is true is measured.
#pragma once

#include <chrono>
#include <cstdint>

#include <hone/candidate.hpp>
#include <hone/policy.hpp>

#include "engine/plan.hpp"

namespace hone::engine {

struct Expectation {
  std::uint64_t finds = 1;                           // of the problem, counted over
  std::chrono::nanoseconds span{0};                  // so long
  std::chrono::duration<double, std::nano> time{0};  // of one launch now; 0 when not known
  Provenance known = Provenance::fallback;
  bool drifted = false;  // production says that the answer is slower than it was, or than its predecessor
  bool asked = false;    // a caller waits for it
  bool bound = false;    // a Binding was made: its reads are not counted, so the rate is at least bound_rate
};

// What a Binding is taken to be read, a second: it is made for hot loops.
inline constexpr double bound_rate = 1000;

// Expected saving: seconds of launches saved in a second, from how often the problem is asked for, the time of one
// launch, and the share of it that work on such knowledge saves on average.
double expected_saving(const Expectation& expectation) noexcept;

// Which waiting problem comes first: the one of the greater number. What a caller waits for comes before everything
// else.
double priority(const Expectation& expectation) noexcept;

// Expected time that a worker spends on the task.
std::chrono::nanoseconds expected_cost(Task task, const Expectation& expectation, const Policy& policy) noexcept;

// Whether the job is to be done: it is asked for, enforced, or saves its cost within the policy's payback time.
bool pays(Task task, const Expectation& expectation, const Policy& policy) noexcept;

// How the finds of a problem are counted on after its job was left.
struct Recount {
  bool anew = false;               // from nothing, so that one that becomes hot later is judged by what it is then
  std::uint64_t ask_again_at = 0;  // the count with which the job is asked for again
};

// Twice the finds, so that asking stays rare; from nothing when they were counted for more than a minute.
Recount recount(std::uint64_t finds, std::chrono::nanoseconds span) noexcept;

}  // namespace hone::engine
