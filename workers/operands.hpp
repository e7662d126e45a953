// Private operands of one problem: device buffers with seeded contents, and the check of what candidates write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/device.hpp>
#include <hone/operation.hpp>
#include <hone/solver.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hone::workers {

// One thread at a time.
class Operands {
 public:
  // Allocates every operand that the problem uses, fills inputs with values uniform in [-1, 1] (integers: -1, 0 or 1),
  // and computes the reference. The problem must be valid. Throws Error(out_of_memory) when more than `max_bytes` are
  // needed, saying how many, and what device and operation throw.
  Operands(const Operation& operation, const Problem& problem, Device& device, std::uint64_t max_bytes,
           std::uint64_t seed);

  // Device pointers in the operation's order; null where the problem does not use the operand.
  const Arguments& arguments() const noexcept { return arguments_; }
  // Bytes allocated on the device.
  std::uint64_t bytes() const noexcept { return bytes_; }

  // Gives inputs their values and outputs a pattern that no right result contains (floating-point types: NaN).
  void reset();
  // Compares every operand with what is right after one launch: nothing when it is, else what is wrong and where.
  // Elements must lie within the operation's bound; those that the reference leaves alone, inputs, and memory behind an
  // operand must be unchanged bit for bit. Call after synchronizing the stream.
  std::optional<std::string> check();

 private:
  struct Place {
    Operand operand;
    Buffer buffer;
    std::vector<std::byte> initial;   // with the guard behind it
    std::vector<std::byte> expected;  // without guard
    std::vector<bool> untouched;      // elements that the reference leaves alone; empty: none
  };

  void allocate(const Operation& operation, const Problem& problem, std::uint64_t max_bytes);
  void compute_reference(const Operation& operation, const Problem& problem, std::uint64_t seed);
  std::optional<std::string> check(const Place& place, const std::vector<std::byte>& actual) const;

  Device& device_;
  ErrorBound bound_;
  std::vector<Place> places_;
  Arguments arguments_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hone::workers
