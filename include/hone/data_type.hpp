// Element types of operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone {

enum class DataType : std::uint8_t { f32, f64, f16, bf16, i8, i32 };

inline constexpr DataType f32 = DataType::f32;
inline constexpr DataType f64 = DataType::f64;
inline constexpr DataType f16 = DataType::f16;
inline constexpr DataType bf16 = DataType::bf16;
inline constexpr DataType i8 = DataType::i8;
inline constexpr DataType i32 = DataType::i32;

// The names of the enumerators in order. A problem field of enumeration type needs such a function, found by ADL.
constexpr std::array<std::string_view, 6> symbols(DataType) noexcept {
  return {"f32", "f64", "f16", "bf16", "i8", "i32"};
}

// Bytes of one element.
constexpr std::size_t size_of(DataType type) noexcept {
  constexpr std::array<std::size_t, 6> bytes = {4, 8, 2, 2, 1, 4};
  return bytes[static_cast<std::size_t>(type)];
}

}  // namespace hone
