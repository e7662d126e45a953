// Every value decoder on any bytes: as they are, and behind a right checksum, so that the content is reached too.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/codec.hpp"

namespace {

using namespace hone::storage;

void decode_all(ByteView key, ByteView value) {
  std::string why;
  decode_environment(key, value, &why);
  decode_record(key, value, &why);
  decode_trial(key, value, &why);
  decode_quarantined(key, value, &why);
  decode_binary(key, value, &why);
  decode_note(key, value, &why);
  decode_attempt(key, value, &why);
  decode_claim(key, value, &why);
  decode_problem(key, value, &why);
  decode_text(key, value, &why);
}

}  // namespace

// The first byte chooses the key's length, the key's bytes follow, the rest is the value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t lengths[] = {8, 16, 24, 32};
  const std::size_t key_size = std::min(lengths[data[0] % 4], size - 1);
  const ByteView all = std::as_bytes(std::span(data + 1, size - 1));
  const ByteView key = all.first(key_size), value = all.subspan(key_size);
  decode_all(key, value);
  decode_all(key, encode_text(key, {reinterpret_cast<const char*>(value.data()), value.size()}));
  return 0;
}
