#include "kernels/hip/code_object.hpp"

#include <elf.h>

#include <cstring>
#include <hone/error.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace hone::hip {
namespace {

constexpr std::uint32_t metadata_note = 32;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Errc::invalid_option, "this is no AMD code object: " + what);
}

template <class T>
T read(std::span<const std::byte> code, std::uint64_t at) {
  T value;
  if (at > code.size() || code.size() - at < sizeof(T)) refuse("it ends too early");
  std::memcpy(&value, code.data() + at, sizeof(T));
  return value;
}

std::span<const std::byte> part(std::span<const std::byte> code, std::uint64_t at, std::uint64_t bytes) {
  if (at > code.size() || bytes > code.size() - at) refuse("a part lies outside it");
  return code.subspan(at, bytes);
}

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

// The metadata among the notes of a section.
std::optional<std::span<const std::byte>> find_metadata(std::span<const std::byte> notes) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    const auto header = read<Elf64_Nhdr>(notes, at);
    at += sizeof header;
    const auto name = part(notes, at, header.n_namesz);
    at += aligned(header.n_namesz);
    const auto content = part(notes, at, header.n_descsz);
    at += aligned(header.n_descsz);
    const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
    if (header.n_type == metadata_note && text.starts_with("AMDGPU")) return content;
  }
  return {};
}

std::span<const std::byte> metadata_of(std::span<const std::byte> code) {
  const auto header = read<Elf64_Ehdr>(code, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    refuse("it is not in the 64-bit ELF format");
  }
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(code, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOTE) continue;
    if (const auto found = find_metadata(part(code, section.sh_offset, section.sh_size))) return *found;
  }
  refuse("it has no metadata");
}

std::int64_t count(const nlohmann::json& value) {
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number > std::numeric_limits<std::uint32_t>::max()) refuse("its metadata counts " + value.dump());
  return number;
}

}  // namespace

std::vector<KernelFacts> read_code_object(std::span<const std::byte> code) {
  const auto metadata = metadata_of(code);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(metadata.data());
  std::vector<KernelFacts> result;
  try {
    const auto tree = nlohmann::json::from_msgpack(bytes, bytes + metadata.size());
    for (const auto& kernel : tree.at("amdhsa.kernels")) {
      const auto needed = [&](const char* key) { return count(kernel.at(key)); };
      const auto spilled = [&](const char* key) { return kernel.contains(key) ? count(kernel.at(key)) : 0; };
      result.push_back({.name = kernel.at(".name").get<std::string>(),
                        .vector_registers = needed(".vgpr_count"),
                        .scalar_registers = needed(".sgpr_count"),
                        .spilled_registers = spilled(".vgpr_spill_count") + spilled(".sgpr_spill_count"),
                        .local_memory_bytes = needed(".group_segment_fixed_size"),
                        .private_memory_bytes = needed(".private_segment_fixed_size")});
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(std::string("its metadata is not readable: ") + error.what());
  }
  return result;
}

}  // namespace hone::hip
