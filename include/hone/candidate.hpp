// What names a candidate and what is known of its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

// A solver and a configuration of its space, by stable names.
struct Candidate {
  std::string solver;
  std::uint32_t version = 0;  // the solver's
  std::string configuration;  // Configuration::text(); "" for a solver without parameters

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// "openblas" or "blocked{mr=6,nr=16}".
std::string to_string(const Candidate& candidate);

// Times of one launch. A median of zero: not known.
struct Timing {
  std::chrono::duration<double, std::nano> median{0};
  // Distribution-free 95 % confidence interval of the median.
  std::chrono::duration<double, std::nano> low{0};
  std::chrono::duration<double, std::nano> high{0};
  std::uint32_t samples = 0;

  bool known() const noexcept { return median.count() > 0; }
  friend bool operator==(const Timing&, const Timing&) = default;
};

// Where an answer comes from. Only `user` was measured in this environment; a `hint` is a user record of another one.
enum class Provenance : std::uint8_t { user, hint, system, model, fallback };

std::string_view to_string(Provenance provenance) noexcept;

}  // namespace hone
