// Elements of operands as numbers.
#pragma once

#include <cstddef>
#include <hone/data_type.hpp>

namespace hone::workers {

// The element at `index` of `data`.
double load_element(const std::byte* data, DataType type, std::size_t index) noexcept;
// Stores the nearest value that the type has, ties to even. The value is finite and in the type's range.
void store_element(std::byte* data, DataType type, std::size_t index, double value) noexcept;

}  // namespace hone::workers
