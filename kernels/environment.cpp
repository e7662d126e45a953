#include <xxhash.h>

#include <hone/environment.hpp>

namespace hone {

std::uint64_t Environment::id() const noexcept {
  XXH64_hash_t hash = 0;
  const auto mix = [&hash](const std::string& text) {
    hash = XXH3_64bits_withSeed(text.data(), text.size(), hash + 1);
  };
  mix(vendor);
  mix(architecture);
  mix(device);
  for (const auto& [name, value] : facts) {
    mix(name);
    mix(value);
  }
  return hash;
}

}  // namespace hone
