// The fingerprint of what a measurement depends on besides the problem.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace hone {

// A value type. Two environments are the same when all facts are.
struct Environment {
  // Coarse classes, for finding the nearest environment: "intel", "x86_64-avx512", "8 cores at 2.1 GHz".
  std::string vendor;
  std::string architecture;
  std::string device;
  // Everything else that matters: clocks, memory, driver and library versions as loaded, thread counts.
  std::map<std::string, std::string> facts;

  // 64-bit hash over all of the above; the same in every process and build.
  std::uint64_t id() const noexcept;

  friend bool operator==(const Environment&, const Environment&) = default;
};

}  // namespace hone
