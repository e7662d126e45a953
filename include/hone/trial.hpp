// How the evaluation of a candidate, and a search, may end.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

// The outcome of one evaluated candidate.
enum class TrialStatus : std::uint8_t {
  ok,
  not_applicable,
  prepare_failed,
  launch_failed,
  wrong_result,
  timed_out,
  crashed
};
constexpr std::array<std::string_view, 7> symbols(TrialStatus) noexcept {
  return {"ok", "not_applicable", "prepare_failed", "launch_failed", "wrong_result", "timed_out", "crashed"};
}

// Why a search stopped.
enum class StopReason : std::uint8_t { none, exhausted, patience, evaluations, wall_time, cancelled, target };
constexpr std::array<std::string_view, 7> symbols(StopReason) noexcept {
  return {"none", "exhausted", "patience", "evaluations", "wall_time", "cancelled", "target"};
}

}  // namespace hone
