// Rules of a search space as text: "MWG % (MDIMC*VWM) == 0", "64 <= a*b <= 1024", "not pack or order == 'ikj'".
//
//   rule       := conjunction { ("or" | "||") conjunction }
//   conjunction:= negation { ("and" | "&&") negation }
//   negation   := ("not" | "!") negation | comparison
//   comparison := sum { ("==" | "!=" | "<" | "<=" | ">" | ">=") sum }      a chain holds when all of its links hold
//   sum        := product { ("+" | "-") product }
//   product    := factor { ("*" | "/" | "//" | "%") factor }
//   factor     := ("-" | "+") factor | number | name | 'label' | "(" rule ")" | "true" | "false"
//
// Arithmetic is that of 64-bit integers; "/" and "//" round down, "%" has the sign of its divisor. "and" and "or" do
// not look at their right side when the left one decides. A label stands next to an enumeration in a comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hone/configuration.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Immutable and thread-safe.
class RuleExpression {
 public:
  // Throws Error(invalid_option) on a text that does not parse or an unknown parameter, naming the column from 1.
  static RuleExpression parse(std::string_view text, std::span<const Parameter> parameters);

  // The places of the parameters that the text names, in order of first mention.
  std::span<const std::size_t> parameters() const noexcept { return parameters_; }

  // Whether the rule holds for these values, one for each of parameters(). A division by zero or an overflow that the
  // evaluation meets makes the rule not fulfilled.
  bool holds(std::span<const std::int64_t> values) const noexcept;

 private:
  friend class RuleParser;
  enum class Operator : std::uint8_t {
    constant,
    parameter,
    disjunction,
    conjunction,
    negation,
    minus,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal
  };
  struct Node {
    Operator op = Operator::constant;
    std::int64_t value = 0;  // of a constant; the place of a parameter in parameters_
    std::size_t left = 0;
    std::size_t right = 0;
  };
  std::optional<std::int64_t> evaluate(std::size_t node, std::span<const std::int64_t> values) const noexcept;
  static std::optional<std::int64_t> apply(Operator op, std::int64_t a, std::int64_t b) noexcept;

  std::vector<Node> nodes_;
  std::size_t root_ = 0;
  std::vector<std::size_t> parameters_;
};

}  // namespace hone
