// Derived features as text: "m * k * n / (m * k + k * n + m * n)", "ceil(m / block_m)", "type == 'bf16' and k > 1024 *
// m".
//
//   expression := conjunction { "or" conjunction }
//   conjunction:= comparison { "and" comparison }
//   comparison := sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum        := product { ("+" | "-") product }
//   product    := factor { ("*" | "/" | "%") factor }
//   factor     := "-" factor | number | name | 'label' | function "(" expression { "," expression } ")" | "("
//   expression ")" function   := ceil | floor | log2 | abs | min | max
//
// Arithmetic is that of doubles; a truth is 1 or 0; "%" rounds down. A label stands next to a variable with categories
// in a comparison. The same text is evaluated in training and at use, and is printed as C++ by `hone learn emit`.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone::learning {

// A field of a problem, or a parameter of a candidate. The value of one with categories is the index of the category.
struct Variable {
  std::string name;
  std::vector<std::string> categories = {};  // none: a number

  bool categorical() const noexcept { return !categories.empty(); }
  friend bool operator==(const Variable&, const Variable&) = default;
};

// Immutable and thread-safe.
class Expression {
 public:
  // Throws Error(invalid_option) naming the text, the column from 1, and what is wrong there.
  static Expression parse(std::string_view text, std::span<const Variable> variables);

  // One value for each variable. Allocates nothing.
  double evaluate(const double* values) const noexcept;

  // The places of the variables that the text names.
  std::span<const std::size_t> variables() const noexcept { return variables_; }

  // True when the value is 1 or 0 whatever the variables are.
  bool is_truth() const noexcept;

  // The expression in C++, of type bool where it is a truth, else double; each variable by its name. Needs <algorithm>
  // and <cmath>.
  std::string code(std::span<const Variable> variables) const;

 private:
  friend class ExpressionParser;
  enum class Operator : std::uint8_t {
    constant,
    variable,
    negate,
    ceil,
    floor,
    log2,
    abs,  // up to here: at most one operand
    min,
    max,
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
    greater_equal,
    conjunction,
    disjunction
  };
  // Postfix order.
  struct Step {
    Operator op = Operator::constant;
    std::size_t variable = 0;
    double value = 0;
  };
  static constexpr std::size_t max_stack = 32;

  std::vector<Step> steps_;
  std::vector<std::size_t> variables_;
};

// a modulo b, with the sign of b. Exact for integers below 2^53.
inline double modulo(double a, double b) noexcept { return a - b * std::floor(a / b); }

// The shortest text that reads back as the same double, and is a double in C++: "2.0", "1e+30".
std::string number_code(double value);

}  // namespace hone::learning
