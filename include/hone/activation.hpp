// Functions at the end of an operation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

// gelu is the tanh form (Hendrycks and Gimpel, arXiv:1606.08415).
enum class Activation : std::uint8_t { none, relu, gelu };

constexpr std::array<std::string_view, 3> symbols(Activation) noexcept { return {"none", "relu", "gelu"}; }

}  // namespace hone
