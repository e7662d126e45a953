// Code objects as a compiler for AMD GPUs makes them, without code: for tests of who reads their metadata.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {

inline constexpr std::uint32_t metadata_note = 32;

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

inline void append_note(std::vector<std::byte>& notes, std::uint32_t type, std::string name,
                        const std::vector<std::uint8_t>& content) {
  name.push_back('\0');
  append(notes, Elf64_Nhdr{static_cast<Elf64_Word>(name.size()), static_cast<Elf64_Word>(content.size()), type});
  for (const char c : name) notes.push_back(static_cast<std::byte>(c));
  notes.resize((notes.size() + 3) / 4 * 4);
  for (const std::uint8_t c : content) notes.push_back(static_cast<std::byte>(c));
  notes.resize((notes.size() + 3) / 4 * 4);
}

// Header, `text` and a zero, notes, table of sections. The emulated runtime finds kernels by the text.
inline std::vector<std::byte> object_of(const std::vector<std::byte>& notes, std::string_view text = {}) {
  const std::size_t text_bytes = (text.size() + 4) / 4 * 4;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header + text_bytes + notes.size();
  header.e_shnum = 2;
  std::vector<std::byte> bytes;
  append(bytes, header);
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize(sizeof header + text_bytes);
  bytes.insert(bytes.end(), notes.begin(), notes.end());
  append(bytes, Elf64_Shdr{});
  Elf64_Shdr section{};
  section.sh_type = SHT_NOTE;
  section.sh_offset = sizeof header + text_bytes;
  section.sh_size = notes.size();
  append(bytes, section);
  return bytes;
}

inline std::vector<std::byte> object_with(const nlohmann::json& metadata, std::string_view text = {}) {
  std::vector<std::byte> notes;
  append_note(notes, 1, "another", {1, 2, 3});
  append_note(notes, metadata_note, "AMDGPU", nlohmann::json::to_msgpack(metadata));
  return object_of(notes, text);
}

// The metadata of one kernel.
inline nlohmann::json kernel_metadata(const std::string& name, int spilled_registers = 4) {
  return {{".name", name},
          {".vgpr_count", 37},
          {".sgpr_count", 22},
          {".vgpr_spill_count", spilled_registers - 1},
          {".sgpr_spill_count", 1},
          {".group_segment_fixed_size", 8192},
          {".private_segment_fixed_size", 4 * spilled_registers}};
}

}  // namespace hone::test
