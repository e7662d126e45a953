#include "tools/demo_server/vector_math.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace hone::demo {
namespace {

// e^x for x <= 0, to about two units in the last place; below -87 it is 0 in effect.
inline float exponential(float x) noexcept {
  x = x < -87.0F ? -87.0F : x;
  const float scaled = x * 1.44269504F;
  const auto n = static_cast<std::int32_t>(scaled - 0.5F);
  const auto whole = static_cast<float>(n);
  const float r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float series = 1.0F / 5040;
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  return series * std::bit_cast<float>((n + 127) << 23);
}

}  // namespace

void normalise(std::span<const float> from, std::span<const float> gain, std::span<const float> shift,
               std::span<float> to) noexcept {
  const std::size_t width = gain.size();
  constexpr std::size_t lanes = 16;
  // Partial sums side by side: one running sum would be a chain of dependent additions.
  const auto sum = [width](auto term) {
    float partial[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) partial[lane] += term(i + lane);
    }
    for (; i < width; ++i) partial[0] += term(i);
    float total = 0;
    for (const float value : partial) total += value;
    return total;
  };
  for (std::size_t row = 0; row + width <= from.size(); row += width) {
    const float* x = from.data() + row;
    float* y = to.data() + row;
    const float mean = sum([x](std::size_t i) { return x[i]; }) / static_cast<float>(width);
    const float variance =
        sum([x, mean](std::size_t i) { return (x[i] - mean) * (x[i] - mean); }) / static_cast<float>(width);
    const float scale = 1.0F / std::sqrt(variance + 1e-5F);
    for (std::size_t i = 0; i < width; ++i) y[i] = gain[i] * ((x[i] - mean) * scale) + shift[i];
  }
}

void masked_softmax(std::span<float> rows, std::size_t width, std::size_t valid) noexcept {
  for (std::size_t row = 0; row + width <= rows.size(); row += width) {
    float* x = rows.data() + row;
    float highest = x[0];
    for (std::size_t i = 1; i < valid; ++i) highest = std::max(highest, x[i]);
    for (std::size_t i = 0; i < valid; ++i) x[i] = exponential(x[i] - highest);
    float total = 0;
    for (std::size_t i = 0; i < valid; ++i) total += x[i];
    const float scale = 1.0F / total;
    for (std::size_t i = 0; i < valid; ++i) x[i] *= scale;
    std::fill(x + valid, x + width, 0.0F);
  }
}

}  // namespace hone::demo
