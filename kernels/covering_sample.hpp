// A sample of a search space that covers what is valid of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/search_space.hpp>
#include <utility>
#include <vector>

namespace hone {

// Values of two parameters by place: parameter and value, the lower parameter first. A value alone is the pair of it
// with itself.
struct ValuePair {
  std::size_t first_parameter = 0;
  std::int64_t first_value = 0;
  std::size_t second_parameter = 0;
  std::int64_t second_value = 0;
  friend auto operator<=>(const ValuePair&, const ValuePair&) = default;
};

struct CoveringSample {
  // All different, the same for the same space and seed.
  std::vector<Configuration> configurations;
  // Pairs that no configuration of the space has.
  std::vector<ValuePair> impossible;
};

// At least `least` configurations (all of them where the space has fewer) that contain every value of every parameter
// and every pair of values of two parameters that the rules allow at all. Drawn greedily, as in Cohen et al., "The AETG
// system" (1997), by uniform samples and, for what these miss, by the space with the pair fixed.
CoveringSample covering_sample(const SearchSpace& space, std::size_t least, std::uint64_t seed = 1);

}  // namespace hone
