// Verdicts: what a verification concluded.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

enum class Verdict : std::uint8_t {
  accept,        // the claimed candidate is within the tolerance and no rival beats it
  re_rank,       // a rival beats it, and no search is needed
  tune,          // it does not hold: a search is needed
  inconclusive,  // the times do not decide; it comes back later
  failed,        // the verification could not be done
};
constexpr std::array<std::string_view, 5> symbols(Verdict) noexcept {
  return {"accept", "re_rank", "tune", "inconclusive", "failed"};
}

}  // namespace hone
