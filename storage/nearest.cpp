#include "storage/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <compare>
#include <string_view>
#include <tuple>

#include "storage/codec.hpp"

namespace hone::storage {
namespace {

bool same_name(const std::string& a, const std::string& b) noexcept { return !a.empty() && a == b; }

bool is_digit(char c) noexcept { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "0.3.21", "2.6.3+ds", "v1.17-rc1": anything that has a dot between two digits.
bool is_version(std::string_view text) noexcept {
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && is_digit(text[i - 1]) && is_digit(text[i + 1])) return true;
  }
  return false;
}

std::strong_ordering compare_versions(std::string_view a, std::string_view b) noexcept {
  const auto next = [](std::string_view& text) -> std::string_view {
    while (!text.empty() && !is_digit(text.front())) text.remove_prefix(1);
    while (text.size() > 1 && text.front() == '0' && is_digit(text[1])) text.remove_prefix(1);
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    const std::string_view number = text.substr(0, length);
    text.remove_prefix(length);
    return number;
  };
  while (!a.empty() || !b.empty()) {
    const std::string_view x = next(a), y = next(b);
    if (x.size() != y.size()) return x.size() <=> y.size();
    if (const auto order = x <=> y; order != 0) return order;
  }
  return std::strong_ordering::equal;
}

// The upper end of the interval in steps of 2 %.
double step_of(const Timing& timing) noexcept {
  const double upper = timing.high.count() > 0 ? timing.high.count() : timing.median.count();
  return std::floor(std::log(upper) / std::log(1.02));
}

Bytes bytes_of(const Record& record) { return encode(record_key(record.key, record.environment), record); }

}  // namespace

EnvironmentMatch match(const Environment& here, const Environment& other) noexcept {
  if (here == other) return EnvironmentMatch::same;
  if (!same_name(here.vendor, other.vendor)) {
    return same_name(here.architecture, other.architecture) ? EnvironmentMatch::same_architecture
                                                            : EnvironmentMatch::other;
  }
  if (!same_name(here.architecture, other.architecture)) return EnvironmentMatch::same_vendor;
  return same_name(here.device, other.device) ? EnvironmentMatch::same_device : EnvironmentMatch::same_architecture;
}

int newer_facts(const Environment& here, const Environment& other) noexcept {
  int sum = 0;
  for (const auto& [name, value] : here.facts) {
    const auto found = other.facts.find(name);
    if (found == other.facts.end() || !is_version(value) || !is_version(found->second)) continue;
    const auto order = compare_versions(found->second, value);
    sum += order > 0 ? 1 : order < 0 ? -1 : 0;
  }
  return sum;
}

bool is_of(std::string_view problem, std::string_view operation) noexcept {
  return problem.starts_with(operation) && (problem.size() == operation.size() || problem[operation.size()] == ' ');
}

bool nearer(const Nearness& a, const Nearness& b) noexcept {
  if (a.match != b.match) return a.match < b.match;
  return std::tie(a.newer_facts, a.measured, a.date) > std::tie(b.newer_facts, b.measured, b.date);
}

bool replaces(const Record& incoming, const Record& kept) {
  if (incoming.measured != kept.measured) return incoming.measured;
  const Timing& a = incoming.best.timing;
  const Timing& b = kept.best.timing;
  if (a.known() != b.known()) return a.known();
  if (a.known() && step_of(a) != step_of(b)) return step_of(a) < step_of(b);
  if (incoming.date != kept.date) return incoming.date > kept.date;
  return bytes_of(incoming) > bytes_of(kept);
}

bool replaces(const Quarantined& incoming, const Quarantined& kept) {
  return std::tie(incoming.date, incoming.cause) > std::tie(kept.date, kept.cause);
}

bool replaces(const Binary& incoming, const Binary& kept) {
  return std::tie(incoming.date, incoming.code) > std::tie(kept.date, kept.code);
}

}  // namespace hone::storage
