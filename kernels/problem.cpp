#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <hone/error.hpp>
#include <hone/problem.hpp>
#include <utility>

namespace hone {
namespace {

[[noreturn]] void reject(const ProblemType& type, std::string_view what) {
  throw Error(Errc::invalid_problem, fmt::format("{}: {}", type.operation(), what));
}

std::string field_text(const Field& field, std::uint64_t word) {
  switch (field.kind) {
    case FieldKind::integer:
      return std::to_string(static_cast<std::int64_t>(word));
    case FieldKind::boolean:
      return word != 0 ? "true" : "false";
    case FieldKind::real:
      return fmt::format("{}", std::bit_cast<double>(word));
    case FieldKind::symbol:
      return word < field.symbols.size() ? field.symbols[word] : fmt::format("#{}", word);
  }
  return {};
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::uint64_t parse_field(const ProblemType& type, const Field& field, std::string_view text) {
  switch (field.kind) {
    case FieldKind::integer: {
      std::int64_t value = 0;
      if (!parse_number(text, value))
        reject(type, fmt::format("field {} takes an integer, not '{}'", field.name, text));
      return static_cast<std::uint64_t>(value);
    }
    case FieldKind::boolean:
      if (text == "true" || text == "1") return 1;
      if (text == "false" || text == "0") return 0;
      reject(type, fmt::format("field {} takes true or false, not '{}'", field.name, text));
    case FieldKind::real: {
      double value = 0;
      if (!parse_number(text, value) || std::isnan(value)) {
        reject(type, fmt::format("field {} takes a number, not '{}'", field.name, text));
      }
      return std::bit_cast<std::uint64_t>(value + 0.0);
    }
    case FieldKind::symbol: {
      const auto place = std::find(field.symbols.begin(), field.symbols.end(), text);
      if (place == field.symbols.end()) {
        reject(type,
               fmt::format("field {} takes one of {}, not '{}'", field.name, fmt::join(field.symbols, ", "), text));
      }
      return static_cast<std::uint64_t>(place - field.symbols.begin());
    }
  }
  return 0;
}

}  // namespace

std::string to_string(const ProblemKey& key) { return fmt::format("{:016x}{:016x}", key.high, key.low); }

ProblemType::ProblemType(std::string operation, std::vector<Field> fields)
    : operation_(std::move(operation)), fields_(std::move(fields)) {
  const auto reject_type = [this](std::string_view what) {
    throw Error(Errc::invalid_operation, fmt::format("problem type of operation '{}': {}", operation_, what));
  };
  if (operation_.empty() || operation_.find_first_of(" \t\n=") != std::string::npos) {
    reject_type("the operation needs a name without blanks and '='");
  }
  if (fields_.empty() || fields_.size() > max_problem_fields) {
    reject_type(fmt::format("it has {} fields, 1 to {} are possible", fields_.size(), max_problem_fields));
  }
  std::string identity = operation_;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name.empty() || fields_[i].name.find_first_of(" \t\n=") != std::string::npos) {
      reject_type("a field needs a name without blanks and '='");
    }
    if (index_of(fields_[i].name) != i) reject_type(fmt::format("field '{}' is listed twice", fields_[i].name));
    identity += ' ' + fields_[i].name;
  }
  seed_ = XXH3_64bits(identity.data(), identity.size());
}

std::optional<std::size_t> ProblemType::index_of(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name == name) return i;
  }
  return std::nullopt;
}

ProblemKey ProblemType::key(std::span<const std::uint64_t> words) const noexcept {
  static_assert(std::endian::native == std::endian::little, "keys are defined over little-endian words");
  const XXH128_hash_t hash = XXH3_128bits_withSeed(words.data(), words.size_bytes(), seed_);
  return {hash.high64, hash.low64};
}

Problem::Problem(const ProblemType& type, std::span<const std::uint64_t> words) noexcept : type_(&type) {
  std::copy_n(words.begin(), std::min(words.size(), type.fields().size()), words_.begin());
  key_ = type.key(this->words());
}

Problem Problem::parse(const ProblemType& type, std::string_view text) {
  std::array<std::uint64_t, max_problem_fields> words{};
  std::array<bool, max_problem_fields> given{};
  const auto fields = type.fields();
  for (std::size_t i = 0; i < fields.size(); ++i) words[i] = fields[i].default_word;
  bool first = true;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    const std::string_view token = text.substr(begin, end - begin);
    text.remove_prefix(end);
    const bool may_be_operation = std::exchange(first, false);
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos) {
      if (may_be_operation && token == type.operation()) continue;
      reject(type, fmt::format("'{}' is not name=value", token));
    }
    const auto index = type.index_of(token.substr(0, equals));
    if (!index) {
      std::vector<std::string_view> names;
      for (const Field& field : fields) names.push_back(field.name);
      reject(type,
             fmt::format("there is no field '{}'; fields are {}", token.substr(0, equals), fmt::join(names, ", ")));
    }
    if (std::exchange(given[*index], true)) reject(type, fmt::format("field {} is given twice", fields[*index].name));
    words[*index] = parse_field(type, fields[*index], token.substr(equals + 1));
  }
  return Problem(type, std::span(words).first(fields.size()));
}

std::string Problem::text() const {
  std::string text = type_->operation();
  const auto fields = type_->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (words_[i] == fields[i].default_word) continue;
    text += ' ' + fields[i].name + '=' + field_text(fields[i], words_[i]);
  }
  return text;
}

std::optional<std::string_view> Problem::malformed_field() const noexcept {
  const auto fields = type_->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind == FieldKind::symbol && words_[i] >= fields[i].symbols.size()) return fields[i].name;
    if (fields[i].kind == FieldKind::real && std::isnan(std::bit_cast<double>(words_[i]))) return fields[i].name;
  }
  return std::nullopt;
}

}  // namespace hone
