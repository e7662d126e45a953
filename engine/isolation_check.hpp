// Whether a policy that isolates can be followed.
#pragma once

#include <hone/error.hpp>
#include <hone/policy.hpp>

namespace hone::engine {

// Throws Error(invalid_option) when the policy isolates and there is no program to isolate in.
inline void check_isolation(const Policy& policy, bool has_program) {
  if (!policy.isolate || has_program) return;
  throw Error(
      Errc::invalid_option,
      "isolate (HONE_ISOLATE) is true, but EngineOptions::isolation_program names no program to measure in: set "
      "it to one that calls hone::serve_isolated, for instance {\"/proc/self/exe\"}, or isolate to false");
}

}  // namespace hone::engine
