#include <fmt/format.h>
#include <lzma.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <hone/error.hpp>

#include "workers/replay/recorded_space.hpp"

namespace hone::workers {
namespace {

struct Decoder {
  lzma_stream stream = LZMA_STREAM_INIT;
  ~Decoder() { lzma_end(&stream); }
};

}  // namespace

std::string read_xz(const std::filesystem::path& path) {
  const auto fail = [&](std::string_view what) {
    throw Error(Errc::invalid_option, fmt::format("'{}' {}", path.string(), what));
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot be read");
  Decoder decoder;
  if (lzma_stream_decoder(&decoder.stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK) fail("finds no memory");
  constexpr std::size_t block = std::size_t{1} << 16;
  std::string text;
  std::array<char, block> input;
  std::array<char, block> output;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK) {
    if (decoder.stream.avail_in == 0 && file) {
      file.read(input.data(), input.size());
      decoder.stream.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
      decoder.stream.avail_in = static_cast<std::size_t>(file.gcount());
    }
    decoder.stream.next_out = reinterpret_cast<std::uint8_t*>(output.data());
    decoder.stream.avail_out = output.size();
    result = lzma_code(&decoder.stream, file ? LZMA_RUN : LZMA_FINISH);
    text.append(output.data(), output.size() - decoder.stream.avail_out);
  }
  if (result != LZMA_STREAM_END) fail("is no complete .xz file; copy it again");
  return text;
}

}  // namespace hone::workers
