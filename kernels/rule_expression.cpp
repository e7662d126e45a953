#include "kernels/rule_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <hone/error.hpp>
#include <limits>

namespace hone {

// Recursive descent, one function a line of the grammar.
class RuleParser {
 public:
  using Operator = RuleExpression::Operator;

  RuleParser(std::string_view text, std::span<const Parameter> parameters) : text_(text), known_(parameters) {}

  RuleExpression parse() {
    if (text_.size() > max_length) {
      throw Error(Errc::invalid_option,
                  fmt::format("a rule has {} characters; at most {} are accepted, split it", text_.size(), max_length));
    }
    next();
    result_.root_ = disjunction();
    if (!token_.empty()) fail(fmt::format("'{}' does not belong here", token_));
    return std::move(result_);
  }

 private:
  // Enough for any rule a person writes, and far from the end of the stack: evaluation is recursive as well.
  static constexpr int max_depth = 200;
  static constexpr std::size_t max_length = 16384;
  static constexpr std::size_t no_parameter = std::numeric_limits<std::size_t>::max();

  // What a comparison's side is, so that a label can be looked up in the enumeration beside it.
  struct Side {
    std::size_t node = 0;
    std::size_t enumeration = no_parameter;
    std::string_view label = {};
    std::size_t column = 0;
  };

  [[noreturn]] void fail(const std::string& what, std::size_t column) const {
    throw Error(Errc::invalid_option, fmt::format("rule '{}', column {}: {}", text_, column + 1, what));
  }
  [[noreturn]] void fail(const std::string& what) const { fail(what, column_); }

  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

  void next() {
    while (end_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[end_])) != 0) ++end_;
    column_ = end_;
    if (end_ == text_.size()) {
      token_ = {};
      return;
    }
    const char first = text_[end_];
    if (is_name(first)) {
      while (end_ < text_.size() && is_name(text_[end_])) ++end_;
    } else if (first == '\'' || first == '"') {
      const std::size_t quote = text_.find(first, end_ + 1);
      if (quote == std::string_view::npos) fail("a quote is not closed");
      end_ = quote + 1;
    } else {
      static constexpr std::string_view pairs[] = {"==", "!=", "<=", ">=", "&&", "||", "//"};
      const std::string_view pair = text_.substr(end_, 2);
      end_ += std::find(std::begin(pairs), std::end(pairs), pair) != std::end(pairs) ? 2 : 1;
    }
    token_ = text_.substr(column_, end_ - column_);
  }

  bool accept(std::string_view a, std::string_view b = {}) {
    if (token_.empty() || (token_ != a && token_ != b)) return false;
    next();
    return true;
  }

  std::size_t add(Operator op, std::int64_t value, std::size_t left = 0, std::size_t right = 0) {
    result_.nodes_.push_back({op, value, left, right});
    return result_.nodes_.size() - 1;
  }

  std::size_t disjunction() {
    std::size_t node = conjunction();
    while (accept("or", "||")) {
      const std::size_t right = conjunction();
      node = add(Operator::disjunction, 0, node, right);
    }
    return node;
  }

  std::size_t conjunction() {
    std::size_t node = negation();
    while (accept("and", "&&")) {
      const std::size_t right = negation();
      node = add(Operator::conjunction, 0, node, right);
    }
    return node;
  }

  std::size_t negation() {
    if (accept("not", "!")) {
      enter();
      const std::size_t node = add(Operator::negation, 0, negation());
      --depth_;
      return node;
    }
    return comparison();
  }

  std::optional<Operator> comparator() const {
    if (token_ == "==") return Operator::equal;
    if (token_ == "!=") return Operator::not_equal;
    if (token_ == "<") return Operator::less;
    if (token_ == "<=") return Operator::less_equal;
    if (token_ == ">") return Operator::greater;
    if (token_ == ">=") return Operator::greater_equal;
    return std::nullopt;
  }

  std::size_t comparison() {
    Side left = side();
    std::optional<std::size_t> chain;
    while (const auto op = comparator()) {
      next();
      Side right = side();
      resolve(left, right);
      resolve(right, left);
      const std::size_t link = add(*op, 0, left.node, right.node);
      chain = chain ? add(Operator::conjunction, 0, *chain, link) : link;
      left = right;
      left.label = {};
    }
    if (!left.label.empty()) fail("a label must be compared with an enumeration", left.column);
    return chain.value_or(left.node);
  }

  Side side() {
    Side side;
    side.column = column_;
    if (!token_.empty() && (token_.front() == '\'' || token_.front() == '"')) {
      side.label = token_;
      next();
      return side;
    }
    const std::size_t begin = result_.nodes_.size();
    side.node = sum();
    const RuleExpression::Node& node = result_.nodes_[side.node];
    if (result_.nodes_.size() == begin + 1 && node.op == Operator::parameter) {
      const std::size_t parameter = result_.parameters_[static_cast<std::size_t>(node.value)];
      if (!known_[parameter].labels.empty()) side.enumeration = parameter;
    }
    return side;
  }

  void resolve(Side& label, const Side& other) {
    if (label.label.empty()) return;
    if (other.enumeration == no_parameter) fail("a label must be compared with an enumeration", label.column);
    const Parameter& parameter = known_[other.enumeration];
    const std::string_view wanted = label.label.substr(1, label.label.size() - 2);
    const auto place = std::find(parameter.labels.begin(), parameter.labels.end(), wanted);
    if (place == parameter.labels.end()) {
      fail(fmt::format("parameter '{}' has no value {}; it accepts {}", parameter.name, label.label,
                       fmt::join(parameter.labels, ", ")),
           label.column);
    }
    label.node = add(Operator::constant, parameter.values[static_cast<std::size_t>(place - parameter.labels.begin())]);
    label.label = {};
  }

  std::size_t sum() {
    std::size_t node = product();
    while (token_ == "+" || token_ == "-") {
      const Operator op = token_ == "+" ? Operator::add : Operator::subtract;
      next();
      const std::size_t right = product();
      node = add(op, 0, node, right);
    }
    return node;
  }

  std::size_t product() {
    std::size_t node = factor();
    while (token_ == "*" || token_ == "/" || token_ == "//" || token_ == "%") {
      const Operator op = token_ == "*" ? Operator::multiply : token_ == "%" ? Operator::modulo : Operator::divide;
      next();
      const std::size_t right = factor();
      node = add(op, 0, node, right);
    }
    return node;
  }

  void enter() {
    if (++depth_ > max_depth) fail("the rule is nested too deeply");
  }

  std::size_t factor() {
    if (token_.empty()) fail("the rule ends where a value is missing");
    enter();
    const std::size_t node = primary();
    --depth_;
    return node;
  }

  std::size_t primary() {
    if (accept("-")) return add(Operator::minus, 0, factor());
    if (accept("+")) return factor();
    if (accept("(")) {
      const std::size_t node = disjunction();
      if (!accept(")")) fail(token_.empty() ? "a ')' is missing" : fmt::format("expected ')' before '{}'", token_));
      return node;
    }
    if (accept("true", "True")) return add(Operator::constant, 1);
    if (accept("false", "False")) return add(Operator::constant, 0);
    if (std::isdigit(static_cast<unsigned char>(token_.front())) != 0) return number();
    if (!is_name(token_.front())) fail(fmt::format("'{}' does not belong here", token_));
    return parameter();
  }

  std::size_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), value);
    if (error != std::errc() || end != token_.data() + token_.size()) {
      fail(fmt::format("'{}' is not a 64-bit integer", token_));
    }
    next();
    return add(Operator::constant, value);
  }

  std::size_t parameter() {
    const auto place = std::find_if(known_.begin(), known_.end(), [&](const Parameter& p) { return p.name == token_; });
    if (place == known_.end()) {
      std::vector<std::string_view> names;
      for (const Parameter& p : known_) names.push_back(p.name);
      fail(fmt::format("there is no parameter '{}'; the parameters are {}", token_, fmt::join(names, ", ")));
    }
    const auto index = static_cast<std::size_t>(place - known_.begin());
    auto& used = result_.parameters_;
    auto slot = std::find(used.begin(), used.end(), index);
    if (slot == used.end()) slot = used.insert(used.end(), index);
    next();
    return add(Operator::parameter, slot - used.begin());
  }

  std::string_view text_;
  std::span<const Parameter> known_;
  std::string_view token_ = {};  // empty at the end
  std::size_t column_ = 0;       // of the token, from 0
  std::size_t end_ = 0;
  int depth_ = 0;
  RuleExpression result_;
};

RuleExpression RuleExpression::parse(std::string_view text, std::span<const Parameter> parameters) {
  return RuleParser(text, parameters).parse();
}

bool RuleExpression::holds(std::span<const std::int64_t> values) const noexcept {
  return evaluate(root_, values).value_or(0) != 0;
}

std::optional<std::int64_t> RuleExpression::evaluate(std::size_t node,
                                                     std::span<const std::int64_t> values) const noexcept {
  const Node& n = nodes_[node];
  if (n.op == Operator::constant) return n.value;
  if (n.op == Operator::parameter) return values[static_cast<std::size_t>(n.value)];
  const std::optional<std::int64_t> left = evaluate(n.left, values);
  if (!left) return std::nullopt;
  switch (n.op) {
    case Operator::negation:
      return *left == 0;
    case Operator::minus:
      return apply(Operator::subtract, 0, *left);
    case Operator::disjunction:
      if (*left != 0) return 1;
      break;
    case Operator::conjunction:
      if (*left == 0) return 0;
      break;
    default:
      break;
  }
  const std::optional<std::int64_t> right = evaluate(n.right, values);
  if (!right) return std::nullopt;
  return apply(n.op, *left, *right);
}

std::optional<std::int64_t> RuleExpression::apply(Operator op, std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  switch (op) {
    case Operator::disjunction:
    case Operator::conjunction:
      return b != 0;  // the left side did not decide
    case Operator::add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Operator::subtract:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Operator::multiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Operator::divide:
    case Operator::modulo: {
      if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
      const std::int64_t remainder = a % b;
      const bool round = remainder != 0 && (remainder < 0) != (b < 0);
      if (op == Operator::divide) return a / b - (round ? 1 : 0);
      return round ? remainder + b : remainder;
    }
    case Operator::equal:
      return a == b;
    case Operator::not_equal:
      return a != b;
    case Operator::less:
      return a < b;
    case Operator::less_equal:
      return a <= b;
    case Operator::greater:
      return a > b;
    case Operator::greater_equal:
      return a >= b;
    default:
      return std::nullopt;
  }
}

}  // namespace hone
