// A configuration: one point of a solver's search space.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// One tunable parameter: its accepted values in the order in which they are neighbours of each other.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;
  std::vector<std::string> labels;  // for enumerations: one label a value; else empty
};

// The values of a solver's parameters. A default-constructed one is empty: the configuration of a solver that has no
// parameters. Immutable and cheap to copy; safe to share between threads.
class Configuration {
 public:
  Configuration() = default;
  // One value a parameter, in the parameters' order.
  Configuration(std::shared_ptr<const std::vector<Parameter>> parameters, std::vector<std::int64_t> values);

  bool empty() const noexcept { return values_.empty(); }
  std::span<const std::int64_t> values() const noexcept { return values_; }
  // The value of the named parameter. Throws Error(invalid_option) when there is none.
  std::int64_t at(std::string_view name) const;

  // Stable text, "mr=6,nr=16,packing=both": name=value or name=label in parameter order; "" when empty.
  std::string text() const;

  friend bool operator==(const Configuration& a, const Configuration& b) noexcept { return a.values_ == b.values_; }

 private:
  std::shared_ptr<const std::vector<Parameter>> parameters_;
  std::vector<std::int64_t> values_;
};

}  // namespace hone
