#include "workers/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace hone::workers {
namespace {

template <class T>
T load(const std::byte* data, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* data, std::size_t index, T value) noexcept {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

double from_half(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

std::uint16_t to_half(double value) noexcept {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The unit in the last place; subnormal numbers share the one of the smallest normal number.
  const int unit = std::max(exponent - 11, -24);
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // A carry into the next exponent is what the addition makes of it.
  const std::uint32_t biased = unit == -24 ? units : (static_cast<std::uint32_t>(unit + 24) << 10) + units;
  return static_cast<std::uint16_t>(sign | biased);
}

double from_bfloat(std::uint16_t bits) noexcept {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

std::uint16_t to_bfloat(double value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

double load_element(const std::byte* data, DataType type, std::size_t index) noexcept {
  switch (type) {
    case DataType::f32:
      return static_cast<double>(load<float>(data, index));
    case DataType::f64:
      return load<double>(data, index);
    case DataType::f16:
      return from_half(load<std::uint16_t>(data, index));
    case DataType::bf16:
      return from_bfloat(load<std::uint16_t>(data, index));
    case DataType::i8:
      return load<std::int8_t>(data, index);
    case DataType::i32:
      return load<std::int32_t>(data, index);
  }
  return 0;
}

void store_element(std::byte* data, DataType type, std::size_t index, double value) noexcept {
  switch (type) {
    case DataType::f32:
      return store(data, index, static_cast<float>(value));
    case DataType::f64:
      return store(data, index, value);
    case DataType::f16:
      return store(data, index, to_half(value));
    case DataType::bf16:
      return store(data, index, to_bfloat(value));
    case DataType::i8:
      return store(data, index, static_cast<std::int8_t>(std::nearbyint(value)));
    case DataType::i32:
      return store(data, index, static_cast<std::int32_t>(std::nearbyint(value)));
  }
}

}  // namespace hone::workers
