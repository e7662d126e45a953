// The encoder's work between its matrix products: plain loops that the compiler turns into vector code.
#pragma once

#include <cstddef>
#include <span>

namespace hone::demo {

// to = gain * (from - mean) / deviation + shift, for each row of `gain`'s length.
void normalise(std::span<const float> from, std::span<const float> gain, std::span<const float> shift,
               std::span<float> to) noexcept;

// The softmax of the first `valid` elements of each row of `width`; the others become zero.
void masked_softmax(std::span<float> rows, std::size_t width, std::size_t valid) noexcept;

}  // namespace hone::demo
