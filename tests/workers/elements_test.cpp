#include "workers/elements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace hone::workers {
namespace {

std::uint16_t bits_of(DataType type, double value) {
  std::array<std::byte, 4> data{};
  store_element(data.data(), type, 1, value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, data.data() + 2, 2);
  return bits;
}

double value_of(DataType type, std::uint16_t bits) {
  std::array<std::byte, 2> data{};
  std::memcpy(data.data(), &bits, 2);
  return load_element(data.data(), type, 0);
}

// Bit patterns of IEEE 754 binary16.
TEST(Elements, HalfHasTheStandardsBits) {
  EXPECT_EQ(bits_of(f16, 1.0), 0x3C00);
  EXPECT_EQ(bits_of(f16, -2.0), 0xC000);
  EXPECT_EQ(bits_of(f16, 65504.0), 0x7BFF);
  EXPECT_EQ(bits_of(f16, 1.0 / 3), 0x3555);
  EXPECT_EQ(bits_of(f16, 0.0), 0x0000);
  EXPECT_EQ(bits_of(f16, -0.0), 0x8000);
  EXPECT_EQ(bits_of(f16, std::ldexp(1, -14)), 0x0400);                       // the smallest normal number
  EXPECT_EQ(bits_of(f16, std::ldexp(1, -24)), 0x0001);                       // the smallest one
  EXPECT_EQ(bits_of(f16, std::ldexp(1, -26)), 0x0000);                       // below half of it
  EXPECT_EQ(bits_of(f16, 1 + std::ldexp(1, -11)), 0x3C00);                   // a tie, to even
  EXPECT_EQ(bits_of(f16, 1 + 3 * std::ldexp(1, -11)), 0x3C02);               // a tie, to even
  EXPECT_EQ(bits_of(f16, 2 - std::ldexp(1, -12)), 0x4000);                   // a carry into the exponent
  EXPECT_EQ(bits_of(f16, std::ldexp(1, -14) - std::ldexp(1, -26)), 0x0400);  // a carry out of the subnormal numbers
  EXPECT_TRUE(std::isnan(value_of(f16, 0xFFFF)));
  EXPECT_EQ(value_of(f16, 0x7C00), std::numeric_limits<double>::infinity());
}

TEST(Elements, EveryFiniteSixteenBitValueComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    for (const DataType type : {f16, bf16}) {
      const double value = value_of(type, pattern);
      if (!std::isfinite(value)) continue;
      ASSERT_EQ(bits_of(type, value), pattern) << std::hex << bits;
    }
  }
}

TEST(Elements, BfloatRoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(bits_of(bf16, 1.0), 0x3F80);
  EXPECT_EQ(bits_of(bf16, 1 + std::ldexp(1, -8)), 0x3F80);
  EXPECT_EQ(bits_of(bf16, 1 + 3 * std::ldexp(1, -8)), 0x3F82);
  EXPECT_EQ(bits_of(bf16, 1 + 1.1 * std::ldexp(1, -8)), 0x3F81);
  EXPECT_TRUE(std::isnan(value_of(bf16, 0xFFFF)));
}

TEST(Elements, OtherTypesComeBack) {
  for (const DataType type : {f32, f64, i8, i32}) {
    std::array<std::byte, 32> data{};
    store_element(data.data(), type, 2, -1);
    EXPECT_EQ(load_element(data.data(), type, 2), -1);
    EXPECT_EQ(load_element(data.data(), type, 1), 0);
  }
}

}  // namespace
}  // namespace hone::workers
