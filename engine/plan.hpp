// What the background does for a problem: the find-mode table and enforcement, as a pure function.
#pragma once

#include <hone/candidate.hpp>
#include <hone/policy.hpp>

namespace hone::engine {

enum class Task : std::uint8_t {
  none,
  verify,  // evaluate the known candidate and its rivals; tune when the verdict says so
  tune,
};

struct Work {
  Task task = Task::none;
  bool search_parameters = false;
  bool may_compile = true;      // false: only solvers that need no compiling
  bool boxed = true;            // budgets of the policy apply; false: no time box and all solvers
  bool resume = false;          // an interrupted search, if there was one, goes on
  bool forget_records = false;  // drop this problem's records first and answer with the default

  friend bool operator==(const Work&, const Work&) = default;
};

// Whether the find mode verifies what is known from elsewhere.
bool verifies(const Policy& policy) noexcept;

// Whether measurements flush the caches.
inline bool cold_cache(const Policy& policy) noexcept { return policy.cache_state == CacheState::cold; }

// `known`: the provenance of the best that is known at first sight; fallback: nothing is. `complete`: the search behind
// a known user record had come to its own end.
Work plan(Provenance known, const Policy& policy, bool complete = true) noexcept;

// The policy with a call's choices in place of its own.
Policy apply(const Policy& policy, const CallOptions& options);

}  // namespace hone::engine
