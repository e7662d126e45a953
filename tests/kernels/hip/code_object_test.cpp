#include "kernels/hip/code_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/error.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/code_object.hpp"

namespace hone::hip {
namespace {

using nlohmann::json;
using test::kernel_metadata;
using test::object_with;
using ::testing::HasSubstr;

std::string refusal(const std::vector<std::byte>& bytes) {
  try {
    read_code_object(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_option);
    return error.what();
  }
  return "it was read";
}

TEST(CodeObject, TellsWhatEachKernelTakes) {
  json plain = kernel_metadata("plain");
  plain.erase(".vgpr_spill_count");
  plain.erase(".sgpr_spill_count");
  const auto facts = read_code_object(object_with({{"amdhsa.kernels", {kernel_metadata("first"), plain}}}));
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0], (KernelFacts{.name = "first",
                                   .vector_registers = 37,
                                   .scalar_registers = 22,
                                   .spilled_registers = 4,
                                   .local_memory_bytes = 8192,
                                   .private_memory_bytes = 16}));
  EXPECT_EQ(facts[1].name, "plain");
  EXPECT_EQ(facts[1].spilled_registers, 0);
}

TEST(CodeObject, RefusesWhatIsNone) {
  EXPECT_THAT(refusal({}), HasSubstr("it ends too early"));
  EXPECT_THAT(refusal(std::vector<std::byte>(200)), HasSubstr("not in the 64-bit ELF format"));
  EXPECT_THAT(refusal(test::object_of({})), HasSubstr("it has no metadata"));
  EXPECT_THAT(refusal(object_with({{"something", 1}})), HasSubstr("metadata is not readable"));
  EXPECT_THAT(refusal(object_with({{"amdhsa.kernels", {{{".name", 7}}}}})), HasSubstr("metadata is not readable"));
  for (const json& count : {json(-1), json(std::uint64_t{1} << 32), json(~std::uint64_t{0})}) {
    json impossible = kernel_metadata("first");
    impossible[".vgpr_count"] = count;
    EXPECT_THAT(refusal(object_with({{"amdhsa.kernels", {impossible}}})), HasSubstr("its metadata counts "));
  }
}

// Every length, and every byte changed: an answer or a refusal, and nothing outside is read (the address sanitizer
// sees).
TEST(CodeObject, SurvivesDamage) {
  const auto whole = object_with({{"amdhsa.kernels", {kernel_metadata("first")}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal(cut), "it was read") << size;
  }
  int refused = 0;
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const int change : {0x01, 0x80, 0xff}) {
      auto damaged = whole;
      damaged[place] ^= static_cast<std::byte>(change);
      refused += refusal(damaged) != "it was read";
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace hone::hip
