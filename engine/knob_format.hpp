// How one type of knob is written, read and bounded.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <hone/policy.hpp>

namespace hone::engine {

template <class T>
inline bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
struct Format {  // enumerations
  std::string accepts() const { return fmt::format("one of {}", fmt::join(symbols(T{}), ", ")); }
  bool parse(std::string_view text, T& value) const {
    const auto names = symbols(T{});
    const auto place = std::find(names.begin(), names.end(), text);
    if (place == names.end()) return false;
    value = static_cast<T>(place - names.begin());
    return true;
  }
  bool accepted(T value) const { return static_cast<std::size_t>(value) < symbols(T{}).size(); }
  std::string print(T value) const {
    return accepted(value) ? std::string(symbols(T{})[static_cast<std::size_t>(value)]) : std::string("?");
  }
};

template <>
struct Format<std::string> {
  std::string accepts() const { return "a path"; }
  bool parse(std::string_view text, std::string& value) const {
    value = text;
    return true;
  }
  bool accepted(const std::string&) const { return true; }
  std::string print(const std::string& value) const { return value; }
};

template <>
struct Format<bool> {
  std::string accepts() const { return "true or false"; }
  bool parse(std::string_view text, bool& value) const {
    if (text != "true" && text != "false" && text != "1" && text != "0") return false;
    value = text == "true" || text == "1";
    return true;
  }
  bool accepted(bool) const { return true; }
  std::string print(bool value) const { return value ? "true" : "false"; }
};

template <>
struct Format<double> {
  double least = 0;
  double most = 0;
  bool above_least = false;
  std::string accepts() const {
    return fmt::format("a number from {} to {}{}", least, most, above_least ? fmt::format(", not {}", least) : "");
  }
  bool parse(std::string_view text, double& value) const { return parse_number(text, value); }
  bool accepted(double value) const { return (above_least ? value > least : value >= least) && value <= most; }
  std::string print(double value) const { return fmt::format("{}", value); }
};

template <>
struct Format<std::uint64_t> {
  std::uint64_t least = 0;
  bool bytes = false;
  bool may_be_unlimited = true;
  std::string accepts() const {
    return fmt::format("{} of at least {}{}{}", bytes ? "bytes" : "a whole number", least,
                       bytes ? " (suffixes KiB, MiB, GiB)" : "", may_be_unlimited ? ", or unlimited" : "");
  }
  bool parse(std::string_view text, std::uint64_t& value) const {
    if (may_be_unlimited && text == "unlimited") {
      value = unlimited;
      return true;
    }
    unsigned shift = 0;
    if (bytes) {
      for (const auto& [suffix, bits] : {std::pair{"KiB", 10u}, std::pair{"MiB", 20u}, std::pair{"GiB", 30u}}) {
        if (!text.ends_with(suffix)) continue;
        text.remove_suffix(3);
        shift = bits;
      }
    }
    if (!parse_number(text, value) || value > (unlimited >> shift)) return false;
    value <<= shift;
    return true;
  }
  bool accepted(std::uint64_t value) const { return value >= least && (may_be_unlimited || value != unlimited); }
  std::string print(std::uint64_t value) const {
    if (value == unlimited) return "unlimited";
    if (bytes && value != 0) {
      if (value % (1ull << 30) == 0) return fmt::format("{}GiB", value >> 30);
      if (value % (1ull << 20) == 0) return fmt::format("{}MiB", value >> 20);
    }
    return fmt::format("{}", value);
  }
};

template <>
struct Format<std::chrono::nanoseconds> {
  std::string accepts() const { return "a time such as 10s, 250ms or 5min, more than zero, or unlimited"; }
  bool parse(std::string_view text, std::chrono::nanoseconds& value) const {
    if (text == "unlimited") {
      value = std::chrono::nanoseconds::max();
      return true;
    }
    double factor = 0;
    for (const auto& [suffix, seconds] : {std::pair{"ms", 1e-3}, std::pair{"us", 1e-6}, std::pair{"min", 60.0},
                                          std::pair{"h", 3600.0}, std::pair{"s", 1.0}}) {
      if (!text.ends_with(suffix)) continue;
      text.remove_suffix(std::string_view(suffix).size());
      factor = seconds;
      break;
    }
    double number = 0;
    if (factor == 0 || !parse_number(text, number)) return false;
    const double ns = number * factor * 1e9;
    if (!(ns >= 1) || ns >= static_cast<double>(std::chrono::nanoseconds::max().count())) return false;
    value = std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(ns));
    return true;
  }
  bool accepted(std::chrono::nanoseconds value) const { return value > std::chrono::nanoseconds::zero(); }
  std::string print(std::chrono::nanoseconds value) const {
    if (value == std::chrono::nanoseconds::max()) return "unlimited";
    if (value % std::chrono::minutes(1) == std::chrono::nanoseconds::zero())
      return fmt::format("{}min", value / std::chrono::minutes(1));
    if (value % std::chrono::seconds(1) == std::chrono::nanoseconds::zero())
      return fmt::format("{}s", value / std::chrono::seconds(1));
    return fmt::format("{}ms", std::chrono::duration<double, std::milli>(value).count());
  }
};

}  // namespace hone::engine
