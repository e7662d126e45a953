// How GPU kernels that compute tiles of an output divide it. Pure functions.
#pragma once

#include <cstdint>
#include <hone/search_space.hpp>
#include <string>
#include <string_view>

namespace hone::hip {

// Work-items of a group along one side, at least.
inline constexpr std::int64_t least_threads = 8;

constexpr std::int64_t tiles(std::int64_t size, std::int64_t tile) noexcept { return (size + tile - 1) / tile; }

// Of the parameters (threads, registers) along a side of `size`: whether no smaller tile would hold it as well.
SearchSpace::Predicate useful_tile(std::int64_t size);

// A good guess along a side of `size`, with at most `most` registers.
std::int64_t default_threads(std::int64_t size) noexcept;
std::int64_t default_registers(std::int64_t size, std::int64_t most) noexcept;

// The first configuration of the space. Throws Error(invalid_option) where the device's limits leave none.
Configuration first_configuration(const SearchSpace& space, std::string_view kernel);

}  // namespace hone::hip
