// Problems: an operation with its sizes, types, layout and constraints.
//
// A problem type is a plain struct that lists its fields once:
//
//   struct RowSum {
//     static constexpr std::string_view operation = "row_sum";
//     std::int64_t rows = 0, columns = 0;
//     hone::DataType type = hone::f32;
//     template <class Self, class Visitor>
//     static constexpr void fields(Self& self, Visitor&& visit) {
//       visit("rows", self.rows);
//       visit("columns", self.columns);
//       visit("type", self.type);
//     }
//   };
//
// Key, text, parsing and hashing follow from that list. Fields are integers, booleans, floating-point numbers, or
// enumerations with a function symbols(E) (see data_type.hpp). A default, once released, must never change: the
// canonical text leaves out fields that have their default value, so that adding a field keeps old records valid.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hone {

// 128 bits over the canonical encoding of a problem. Equal problems have equal keys in every process and build.
struct ProblemKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const ProblemKey&, const ProblemKey&) = default;
};

// 32 lower-case hexadecimal digits.
std::string to_string(const ProblemKey& key);

enum class FieldKind : std::uint8_t { integer, boolean, real, symbol };

// One field of a problem type. Every value is kept as a 64-bit word: two's complement, 0 or 1, the bits of a double
// (with -0 as +0), or the index of a symbol.
struct Field {
  std::string name;
  FieldKind kind = FieldKind::integer;
  std::vector<std::string> symbols = {};
  std::uint64_t default_word = 0;
};

inline constexpr std::size_t max_problem_fields = 24;

// What all problems of one operation share. Immutable; one object for each operation in a process.
class ProblemType {
 public:
  // Throws Error(invalid_operation): no or too many fields, empty or repeated names.
  ProblemType(std::string operation, std::vector<Field> fields);

  const std::string& operation() const noexcept { return operation_; }
  std::span<const Field> fields() const noexcept { return fields_; }
  // Index of the named field.
  std::optional<std::size_t> index_of(std::string_view name) const noexcept;
  // The key of a problem with these field words. Neither allocates nor throws.
  ProblemKey key(std::span<const std::uint64_t> words) const noexcept;

 private:
  std::string operation_;
  std::vector<Field> fields_;
  std::uint64_t seed_;
};

namespace detail {

template <class T>
constexpr std::uint64_t encode_field(const T& value) noexcept {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(value) + 0.0);
  } else {
    static_assert(std::is_integral_v<T>, "a problem field is an integer, a boolean, a real or an enumeration");
    return static_cast<std::uint64_t>(value);
  }
}

template <class T>
constexpr void decode_field(std::uint64_t word, T& value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(std::bit_cast<double>(word));
  } else {
    value = static_cast<T>(word);
  }
}

template <class T>
Field describe_field(std::string_view name, const T& default_value) {
  Field field{std::string(name), FieldKind::integer, {}, encode_field(default_value)};
  if constexpr (std::is_enum_v<T>) {
    field.kind = FieldKind::symbol;
    for (std::string_view symbol : symbols(T{})) field.symbols.emplace_back(symbol);
  } else if constexpr (std::is_same_v<T, bool>) {
    field.kind = FieldKind::boolean;
  } else if constexpr (std::is_floating_point_v<T>) {
    field.kind = FieldKind::real;
  }
  return field;
}

struct NoVisitor {
  template <class T>
  constexpr void operator()(std::string_view, T&) const noexcept {}
};

}  // namespace detail

// A struct that lists its fields, see the top of this file.
template <class T>
concept ProblemStruct = std::is_default_constructible_v<T> && requires(T& value) {
  { T::operation } -> std::convertible_to<std::string_view>;
  T::fields(value, detail::NoVisitor{});
};

// The type object of T, made at first use. Thread-safe.
template <ProblemStruct T>
const ProblemType& problem_type() {
  static const ProblemType type = [] {
    std::vector<Field> fields;
    T defaults{};
    T::fields(defaults,
              [&](std::string_view name, const auto& value) { fields.push_back(detail::describe_field(name, value)); });
    return ProblemType(std::string(T::operation), std::move(fields));
  }();
  return type;
}

// A problem of any operation: its type and one word for each field. Copying does not allocate.
class Problem {
 public:
  // Words beyond the type's fields are zero.
  Problem(const ProblemType& type, std::span<const std::uint64_t> words) noexcept;

  // The erased form of a typed problem; neither allocates nor throws.
  template <ProblemStruct T>
  explicit Problem(const T& problem) noexcept : type_(&problem_type<T>()) {
    std::size_t index = 0;
    T::fields(problem, [&](std::string_view, const auto& value) { words_[index++] = detail::encode_field(value); });
    key_ = type_->key(words());
  }

  // Parses "gemm m=16 n=768 k=3072" or the part after the operation. Missing fields have their defaults.
  // Throws Error(invalid_problem) naming the field and the accepted values.
  static Problem parse(const ProblemType& type, std::string_view text);

  const ProblemType& type() const noexcept { return *type_; }
  std::string_view operation() const noexcept { return type_->operation(); }
  std::span<const std::uint64_t> words() const noexcept { return {words_.data(), type_->fields().size()}; }
  const ProblemKey& key() const noexcept { return key_; }

  // Canonical text: the operation, then name=value of every field that differs from its default, in field order.
  std::string text() const;

  // The typed problem. The operation must be T's.
  template <ProblemStruct T>
  T as() const noexcept {
    T problem{};
    std::size_t index = 0;
    T::fields(problem, [&](std::string_view, auto& value) { detail::decode_field(words_[index++], value); });
    return problem;
  }

  // A symbol field outside its symbols, or a NaN: the field's name; otherwise nothing.
  std::optional<std::string_view> malformed_field() const noexcept;

  friend bool operator==(const Problem& a, const Problem& b) noexcept {
    return a.type_ == b.type_ && a.words_ == b.words_;
  }

 private:
  const ProblemType* type_;
  ProblemKey key_;
  std::array<std::uint64_t, max_problem_fields> words_{};
};

}  // namespace hone
