#include "workers/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <hone/error.hpp>
#include <random>

#include "workers/elements.hpp"

namespace hone::workers {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte guard_pattern{0xC3};

bool is_integer(DataType type) { return type == DataType::i8 || type == DataType::i32; }

std::size_t content_bytes(const Operand& operand) { return operand.count * size_of(operand.type); }

void fill_random(std::vector<std::byte>& data, const Operand& operand, std::mt19937_64& random) {
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> integer(-1, 1);
  for (std::size_t i = 0; i < operand.count; ++i) {
    store_element(data.data(), operand.type, i, is_integer(operand.type) ? integer(random) : real(random));
  }
}

// Bytes of the pattern that outputs get before a launch: a NaN in every floating-point type.
std::byte poison(DataType type) { return std::byte(is_integer(type) ? 0x5A : 0xFF); }

bool equal_element(const std::vector<std::byte>& a, const std::vector<std::byte>& b, DataType type, std::size_t index) {
  const std::size_t size = size_of(type);
  return std::memcmp(a.data() + index * size, b.data() + index * size, size) == 0;
}

// The operands' contents after the reference ran on `initial`.
std::vector<std::vector<std::byte>> run_reference(const Operation& operation, const Problem& problem,
                                                  const std::vector<Operand>& operands,
                                                  std::vector<std::vector<std::byte>> contents) {
  std::vector<std::span<std::byte>> spans;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    spans.push_back(std::span(contents[i]).first(content_bytes(operands[i])));
  }
  operation.reference(problem, spans);
  return contents;
}

}  // namespace

Operands::Operands(const Operation& operation, const Problem& problem, Device& device, std::uint64_t max_bytes,
                   std::uint64_t seed)
    : device_(device), bound_(operation.error_bound(problem)), arguments_({}) {
  allocate(operation, problem, max_bytes);
  compute_reference(operation, problem, seed);
  for (Place& place : places_) {
    if (place.buffer) device_.copy_to_device(place.buffer.get(), place.initial);
  }
}

void Operands::allocate(const Operation& operation, const Problem& problem, std::uint64_t max_bytes) {
  for (Operand& operand : operation.operands(problem)) places_.push_back({std::move(operand), {}, {}, {}, {}});
  for (const Place& place : places_) {
    if (place.operand.count == 0) continue;
    if (place.operand.count > max_bytes / size_of(place.operand.type)) bytes_ = UINT64_MAX / max_operands;
    bytes_ = std::min(bytes_ + content_bytes(place.operand) + guard_bytes, UINT64_MAX / max_operands);
  }
  if (bytes_ > max_bytes) {
    throw Error(
        Errc::out_of_memory,
        fmt::format("measuring '{}' takes at least {} bytes of buffers, more than max_buffer_bytes = {}; raise it "
                    "(HONE_MAX_BUFFER_BYTES)",
                    problem.text(), bytes_, max_bytes));
  }
  std::array<const void*, max_operands> pointers{};
  for (std::size_t i = 0; i < places_.size() && i < max_operands; ++i) {
    Place& place = places_[i];
    if (place.operand.count == 0) continue;
    place.buffer = device_.allocate(content_bytes(place.operand) + guard_bytes);
    pointers[i] = place.buffer.get();
  }
  arguments_ = Arguments(
      {pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], pointers[5], pointers[6], pointers[7]});
}

void Operands::compute_reference(const Operation& operation, const Problem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed ^ problem.key().low);
  std::vector<Operand> operands;
  std::vector<std::vector<std::byte>> contents;
  for (Place& place : places_) {
    operands.push_back(place.operand);
    place.initial.assign(content_bytes(place.operand), poison(place.operand.type));
    if (place.operand.role != OperandRole::output) fill_random(place.initial, place.operand, random);
    contents.push_back(place.initial);
  }
  auto results = run_reference(operation, problem, operands, contents);

  // An element that has kept its bits was not written, or was written with what it held by chance. A second run on
  // other contents tells; poison that is a NaN needs none.
  bool by_chance = false;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.operand.role == OperandRole::input) continue;
    for (std::size_t e = 0; e < place.operand.count; ++e) {
      if (!equal_element(results[i], place.initial, place.operand.type, e)) continue;
      place.untouched.resize(place.operand.count);
      place.untouched[e] = true;
    }
    const bool certain = place.operand.role == OperandRole::output && !is_integer(place.operand.type);
    if (place.untouched.empty() || certain) continue;
    by_chance = true;
    if (place.operand.role == OperandRole::output) {
      std::fill(contents[i].begin(), contents[i].end(), ~poison(place.operand.type));
    } else {
      fill_random(contents[i], place.operand, random);
    }
  }
  if (by_chance) {
    const auto again = run_reference(operation, problem, operands, contents);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (std::size_t e = 0; e < places_[i].untouched.size(); ++e) {
        places_[i].untouched[e] =
            places_[i].untouched[e] && equal_element(again[i], contents[i], places_[i].operand.type, e);
      }
    }
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].expected = std::move(results[i]);
    places_[i].initial.resize(content_bytes(places_[i].operand) + guard_bytes, guard_pattern);
  }
}

void Operands::reset() {
  for (Place& place : places_) {
    if (place.buffer) device_.copy_to_device(place.buffer.get(), place.initial);
  }
}

std::optional<std::string> Operands::check() {
  std::vector<std::byte> actual;
  for (const Place& place : places_) {
    if (!place.buffer) continue;
    actual.resize(place.initial.size());
    device_.copy_to_host(actual, place.buffer.get());
    if (auto wrong = check(place, actual)) return wrong;
  }
  return {};
}

std::optional<std::string> Operands::check(const Place& place, const std::vector<std::byte>& actual) const {
  const Operand& operand = place.operand;
  const std::size_t bytes = content_bytes(operand);
  if (!std::equal(actual.begin() + static_cast<std::ptrdiff_t>(bytes), actual.end(),
                  place.initial.begin() + static_cast<std::ptrdiff_t>(bytes))) {
    return fmt::format("it wrote behind the end of {}", operand.name);
  }
  if (operand.role == OperandRole::input) {
    if (std::equal(actual.begin(), actual.end(), place.initial.begin())) return {};
    return fmt::format("it changed its input {}", operand.name);
  }
  for (std::size_t i = 0; i < operand.count; ++i) {
    if (!place.untouched.empty() && place.untouched[i]) {
      if (equal_element(actual, place.initial, operand.type, i)) continue;
      return fmt::format("it wrote to {}[{}], which must stay untouched", operand.name, i);
    }
    const double got = load_element(actual.data(), operand.type, i);
    const double wanted = load_element(place.expected.data(), operand.type, i);
    const double bound = bound_.absolute + bound_.relative * std::fabs(wanted);
    if (got == wanted || std::fabs(got - wanted) <= bound) continue;
    return fmt::format("{}[{}] is {:.9g} and not {:.9g} within {:.3g}", operand.name, i, got, wanted, bound);
  }
  return {};
}

}  // namespace hone::workers
