// Random numbers for one step of a search.
#pragma once

#include <cstdint>
#include <limits>

namespace hone::workers {

// A generator that starts anew from (seed, step), so that a search can be resumed at any step without having kept the
// generator's state. SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class StepRandom {
 public:
  using result_type = std::uint64_t;
  StepRandom(std::uint64_t seed, std::uint64_t step) noexcept : state_(mix(seed) ^ mix(~step)) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() noexcept { return mix(state_ += 0x9e3779b97f4a7c15u); }

  // In [0, size); `size` must be positive. The bias of at most size / 2^64 does not matter here.
  std::uint64_t below(std::uint64_t size) noexcept { return (*this)() % size; }
  // In [0, 1).
  double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace hone::workers
