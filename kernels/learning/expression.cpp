#include "kernels/learning/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <hone/error.hpp>
#include <optional>
#include <utility>

namespace hone::learning {

// Recursive descent, one function a line of the grammar.
class ExpressionParser {
 public:
  using Operator = Expression::Operator;

  ExpressionParser(std::string_view text, std::span<const Variable> variables) : text_(text), known_(variables) {}

  Expression parse() {
    next();
    disjunction();
    if (!token_.empty()) fail(fmt::format("'{}' does not belong here", token_));
    return std::move(result_);
  }

 private:
  static constexpr int max_depth = 100;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Errc::invalid_option, fmt::format("expression '{}', column {}: {}", text_, column_ + 1, what));
  }

  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

  void next() {
    while (end_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[end_])) != 0) ++end_;
    column_ = end_;
    token_ = {};
    if (end_ == text_.size()) return;
    const char first = text_[end_];
    if (is_name(first)) {
      while (end_ < text_.size() && is_name(text_[end_])) ++end_;
    } else if (first == '\'') {
      const std::size_t quote = text_.find('\'', end_ + 1);
      if (quote == std::string_view::npos) fail("a quote is not closed");
      end_ = quote + 1;
    } else {
      static constexpr std::string_view pairs[] = {"==", "!=", "<=", ">="};
      end_ += std::find(std::begin(pairs), std::end(pairs), text_.substr(end_, 2)) != std::end(pairs) ? 2 : 1;
    }
    token_ = text_.substr(column_, end_ - column_);
  }

  bool accept(std::string_view token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}' is missing", token));
  }

  void add(Operator op, std::size_t variable = 0, double value = 0) {
    stack_ += op <= Operator::variable ? 1 : op <= Operator::abs ? 0 : -1;
    if (stack_ > static_cast<int>(Expression::max_stack)) fail("the expression is nested too deeply");
    result_.steps_.push_back({op, variable, value});
  }

  void disjunction() {
    conjunction();
    while (accept("or")) {
      conjunction();
      add(Operator::disjunction);
    }
  }
  void conjunction() {
    comparison();
    while (accept("and")) {
      comparison();
      add(Operator::conjunction);
    }
  }

  void comparison() {
    static constexpr std::pair<std::string_view, Operator> comparators[] = {
        {"==", Operator::equal},      {"!=", Operator::not_equal}, {"<", Operator::less},
        {"<=", Operator::less_equal}, {">", Operator::greater},    {">=", Operator::greater_equal}};
    const std::size_t start = result_.steps_.size();
    sum();
    for (const auto& [token, op] : comparators) {
      if (token_ != token) continue;
      const bool equality = op == Operator::equal || op == Operator::not_equal;
      const bool single = result_.steps_.size() == start + 1 && result_.steps_.back().op == Operator::variable;
      next();
      if (!token_.empty() && token_.front() == '\'') {
        if (!equality || !single) fail("a label is compared by == or != with one variable");
        label(result_.steps_.back().variable);
      } else {
        sum();
      }
      return add(op);
    }
  }

  void label(std::size_t variable) {
    const auto& categories = known_[variable].categories;
    const std::string_view name = token_.substr(1, token_.size() - 2);
    const auto found = std::find(categories.begin(), categories.end(), name);
    if (found == categories.end()) fail(fmt::format("{} has no category '{}'", known_[variable].name, name));
    add(Operator::constant, 0, static_cast<double>(found - categories.begin()));
    next();
  }

  void sum() {
    product();
    while (true) {
      if (accept("+")) {
        product();
        add(Operator::add);
      } else if (accept("-")) {
        product();
        add(Operator::subtract);
      } else {
        return;
      }
    }
  }

  void product() {
    factor();
    while (true) {
      std::optional<Operator> op;
      if (accept("*")) op = Operator::multiply;
      if (!op && accept("/")) op = Operator::divide;
      if (!op && accept("%")) op = Operator::modulo;
      if (!op) return;
      factor();
      add(*op);
    }
  }

  void factor() {
    if (++depth_ > max_depth) fail("the expression is nested too deeply");
    if (accept("-")) {
      factor();
      add(Operator::negate);
    } else if (accept("(")) {
      disjunction();
      expect(")");
    } else if (token_.empty()) {
      fail("the expression ends too early");
    } else if (std::isdigit(static_cast<unsigned char>(token_.front())) != 0) {
      number();
    } else if (is_name(token_.front())) {
      name();
    } else {
      fail(fmt::format("'{}' does not belong here", token_));
    }
    --depth_;
  }

  void number() {
    double value = 0;
    const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), value);
    if (error != std::errc() || end != token_.data() + token_.size()) fail(fmt::format("'{}' is no number", token_));
    add(Operator::constant, 0, value);
    next();
  }

  void name() {
    static constexpr std::pair<std::string_view, Operator> functions[] = {
        {"ceil", Operator::ceil}, {"floor", Operator::floor}, {"log2", Operator::log2},
        {"abs", Operator::abs},   {"min", Operator::min},     {"max", Operator::max}};
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].name != token_) continue;
      if (std::find(result_.variables_.begin(), result_.variables_.end(), i) == result_.variables_.end()) {
        result_.variables_.push_back(i);
      }
      next();
      return add(Operator::variable, i);
    }
    for (const auto& [function, op] : functions) {
      if (token_ != function) continue;
      next();
      expect("(");
      disjunction();
      if (op >= Operator::min) {
        expect(",");
        disjunction();
      }
      expect(")");
      return add(op);
    }
    fail(fmt::format("there is no variable or function '{}'", token_));
  }

  std::string_view text_;
  std::span<const Variable> known_;
  std::string_view token_;
  std::size_t column_ = 0;
  std::size_t end_ = 0;
  int depth_ = 0;
  int stack_ = 0;
  Expression result_;
};

Expression Expression::parse(std::string_view text, std::span<const Variable> variables) {
  return ExpressionParser(text, variables).parse();
}

double Expression::evaluate(const double* values) const noexcept {
  std::array<double, max_stack + 1> stack;  // NOLINT: filled before it is read
  std::size_t top = 0;
  for (const Step& step : steps_) {
    if (step.op == Operator::constant) {
      stack[top++] = step.value;
      continue;
    }
    if (step.op == Operator::variable) {
      stack[top++] = values[step.variable];
      continue;
    }
    if (step.op > Operator::abs) --top;
    double& a = stack[top - 1];
    const double b = stack[top];
    switch (step.op) {
      case Operator::negate:
        a = -a;
        break;
      case Operator::ceil:
        a = std::ceil(a);
        break;
      case Operator::floor:
        a = std::floor(a);
        break;
      case Operator::log2:
        a = std::log2(a);
        break;
      case Operator::abs:
        a = std::abs(a);
        break;
      case Operator::min:
        a = std::min(a, b);
        break;
      case Operator::max:
        a = std::max(a, b);
        break;
      case Operator::add:
        a += b;
        break;
      case Operator::subtract:
        a -= b;
        break;
      case Operator::multiply:
        a *= b;
        break;
      case Operator::divide:
        a /= b;
        break;
      case Operator::modulo:
        a = modulo(a, b);
        break;
      case Operator::equal:
        a = a == b ? 1 : 0;
        break;
      case Operator::not_equal:
        a = a != b ? 1 : 0;
        break;
      case Operator::less:
        a = a < b ? 1 : 0;
        break;
      case Operator::less_equal:
        a = a <= b ? 1 : 0;
        break;
      case Operator::greater:
        a = a > b ? 1 : 0;
        break;
      case Operator::greater_equal:
        a = a >= b ? 1 : 0;
        break;
      case Operator::conjunction:
        a = a != 0 && b != 0 ? 1 : 0;
        break;
      case Operator::disjunction:
        a = a != 0 || b != 0 ? 1 : 0;
        break;
      case Operator::constant:
      case Operator::variable:
        break;
    }
  }
  return stack[0];
}

bool Expression::is_truth() const noexcept { return steps_.back().op >= Operator::equal; }

std::string Expression::code(std::span<const Variable> variables) const {
  struct Part {
    std::string text;
    bool truth = false;
    std::string number() const { return truth ? fmt::format("double({})", text) : text; }
    std::string condition() const { return truth ? text : fmt::format("({} != 0)", text); }
  };
  std::vector<Part> stack;
  for (const Step& step : steps_) {
    if (step.op == Operator::constant) {
      stack.push_back({number_code(step.value)});
      continue;
    }
    if (step.op == Operator::variable) {
      stack.push_back({variables[step.variable].name});
      continue;
    }
    Part b;
    if (step.op > Operator::abs) {
      b = std::move(stack.back());
      stack.pop_back();
    }
    Part& a = stack.back();
    const auto infix = [&](const char* op) { return fmt::format("({} {} {})", a.number(), op, b.number()); };
    const auto function = [&](const char* name) { return fmt::format("{}({})", name, a.number()); };
    const auto function_of_two = [&](const char* name) {
      return fmt::format("{}({}, {})", name, a.number(), b.number());
    };
    std::string text;
    switch (step.op) {
      case Operator::negate:
        text = fmt::format("(-{})", a.number());
        break;
      case Operator::ceil:
        text = function("std::ceil");
        break;
      case Operator::floor:
        text = function("std::floor");
        break;
      case Operator::log2:
        text = function("std::log2");
        break;
      case Operator::abs:
        text = function("std::abs");
        break;
      case Operator::min:
        text = function_of_two("std::min<double>");
        break;
      case Operator::max:
        text = function_of_two("std::max<double>");
        break;
      case Operator::add:
        text = infix("+");
        break;
      case Operator::subtract:
        text = infix("-");
        break;
      case Operator::multiply:
        text = infix("*");
        break;
      case Operator::divide:
        text = infix("/");
        break;
      case Operator::modulo:
        text = function_of_two("hone::learning::modulo");
        break;
      case Operator::equal:
        text = infix("==");
        break;
      case Operator::not_equal:
        text = infix("!=");
        break;
      case Operator::less:
        text = infix("<");
        break;
      case Operator::less_equal:
        text = infix("<=");
        break;
      case Operator::greater:
        text = infix(">");
        break;
      case Operator::greater_equal:
        text = infix(">=");
        break;
      case Operator::conjunction:
        text = fmt::format("({} && {})", a.condition(), b.condition());
        break;
      case Operator::disjunction:
        text = fmt::format("({} || {})", a.condition(), b.condition());
        break;
      case Operator::constant:
      case Operator::variable:
        break;
    }
    a = {std::move(text), step.op >= Operator::equal};
  }
  std::string text = std::move(stack.back().text);
  if (steps_.size() > 1 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  return text;
}

std::string number_code(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

}  // namespace hone::learning
