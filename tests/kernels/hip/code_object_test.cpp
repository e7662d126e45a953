#include "kernels/hip/code_object.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <hone/error.hpp>
#include <nlohmann/json.hpp>

namespace hone::hip {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::uint32_t metadata_note = 32;

json kernel(const std::string& name) {
  return {{".name", name},
          {".vgpr_count", 37},
          {".sgpr_count", 22},
          {".vgpr_spill_count", 3},
          {".sgpr_spill_count", 1},
          {".group_segment_fixed_size", 8192},
          {".private_segment_fixed_size", 16}};
}

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

void append_note(std::vector<std::byte>& notes, std::uint32_t type, std::string name,
                 const std::vector<std::uint8_t>& content) {
  name.push_back('\0');
  append(notes, Elf64_Nhdr{static_cast<Elf64_Word>(name.size()), static_cast<Elf64_Word>(content.size()), type});
  for (const char c : name) notes.push_back(static_cast<std::byte>(c));
  notes.resize((notes.size() + 3) / 4 * 4);
  for (const std::uint8_t c : content) notes.push_back(static_cast<std::byte>(c));
  notes.resize((notes.size() + 3) / 4 * 4);
}

// Header, notes, table of sections.
std::vector<std::byte> object(const std::vector<std::byte>& notes) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header + notes.size();
  header.e_shnum = 2;
  std::vector<std::byte> bytes;
  append(bytes, header);
  bytes.insert(bytes.end(), notes.begin(), notes.end());
  append(bytes, Elf64_Shdr{});
  Elf64_Shdr section{};
  section.sh_type = SHT_NOTE;
  section.sh_offset = sizeof header;
  section.sh_size = notes.size();
  append(bytes, section);
  return bytes;
}

std::vector<std::byte> object_with(const json& metadata) {
  std::vector<std::byte> notes;
  append_note(notes, 1, "another", {1, 2, 3});
  append_note(notes, metadata_note, "AMDGPU", json::to_msgpack(metadata));
  return object(notes);
}

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
  json plain = kernel("plain");
  plain.erase(".vgpr_spill_count");
  plain.erase(".sgpr_spill_count");
  const auto facts = read_code_object(object_with({{"amdhsa.kernels", {kernel("first"), plain}}}));
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
  EXPECT_THAT(refusal(object({})), HasSubstr("it has no metadata"));
  EXPECT_THAT(refusal(object_with({{"something", 1}})), HasSubstr("metadata is not readable"));
  EXPECT_THAT(refusal(object_with({{"amdhsa.kernels", {{{".name", 7}}}}})), HasSubstr("metadata is not readable"));
}

// Every length, and every byte changed: an answer or a refusal, and nothing outside is read (the address sanitizer
// sees).
TEST(CodeObject, SurvivesDamage) {
  const auto whole = object_with({{"amdhsa.kernels", {kernel("first")}}});
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
