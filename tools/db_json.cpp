#include "tools/db_json.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace hone::tools {
namespace {

using Json = nlohmann::ordered_json;
using namespace storage;

constexpr std::array<std::string_view, 7> trial_statuses{
    "ok", "not_applicable", "prepare_failed", "launch_failed", "wrong_result", "timed_out", "crashed"};
constexpr std::array<std::string_view, 7> stop_reasons{"none",      "exhausted", "patience", "evaluations",
                                                       "wall_time", "cancelled", "target"};
constexpr auto verdicts = symbols(Verdict{});

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

Json candidate_json(const RecordedCandidate& c) {
  return {{"solver", c.candidate.solver},
          {"version", c.candidate.version},
          {"configuration", c.candidate.configuration},
          {"median_ns", c.timing.median.count()},
          {"low_ns", c.timing.low.count()},
          {"high_ns", c.timing.high.count()},
          {"samples", c.timing.samples},
          {"workspace", c.workspace}};
}

Json bare_candidate_json(const Candidate& c) {
  return {{"solver", c.solver}, {"version", c.version}, {"configuration", c.configuration}};
}

Json head(const char* kind, const std::string& problem, const ProblemKey& key, std::uint64_t environment) {
  return {
      {"kind", kind}, {"problem", problem}, {"key", to_string(key)}, {"environment", environment_text(environment)}};
}

Json json_of(const PutEnvironment& put) {
  const Environment& e = put.environment;
  Json facts = Json::object();
  for (const auto& [name, value] : e.facts) facts[name] = value;
  return {{"kind", "environment"}, {"id", environment_text(e.id())},
          {"vendor", e.vendor},    {"architecture", e.architecture},
          {"device", e.device},    {"facts", facts}};
}

Json json_of_record(const Record& r) {
  Json json = head("record", r.problem, r.key, r.environment);
  json["measured"] = r.measured;
  json["best"] = candidate_json(r.best);
  json["rivals"] = Json::array();
  for (const RecordedCandidate& rival : r.rivals) json["rivals"].push_back(candidate_json(rival));
  json["cold_cache"] = r.measurement.cold_cache;
  json["min_samples"] = r.measurement.min_samples;
  json["date"] = date_text(r.date);
  json["budget_spent_ns"] = r.budget_spent.count();
  json["evaluations"] = r.evaluations;
  json["complete"] = r.complete;
  json["stop"] = stop_reasons[static_cast<std::size_t>(r.stop)];
  if (r.judgement) {
    json["judgement"] = {{"verdict", verdicts[static_cast<std::size_t>(r.judgement->verdict)]},
                         {"ratio", r.judgement->ratio},
                         {"cause", r.judgement->cause}};
  }
  return json;
}

Json json_of_trial(const Trial& t) {
  Json json = head("trial", t.problem, t.key, t.environment);
  json["candidate"] = candidate_json(t.candidate);
  json["status"] = trial_statuses[static_cast<std::size_t>(t.status)];
  json["reason"] = t.reason;
  json["date"] = date_text(t.date);
  if (t.cold_cache) json["cold_cache"] = true;
  if (!t.facts.empty()) json["facts"] = t.facts;
  return json;
}

Json json_of(const PutRecord& put) { return json_of_record(put.record); }
Json json_of(const MergeRecord& put) { return json_of_record(put.record); }
Json json_of(const PutTrial& put) { return json_of_trial(put.trial); }
Json json_of(const MergeTrial& put) { return json_of_trial(put.trial); }
Json json_of(const PutQuarantine& put) {
  const Quarantined& q = put.quarantined;
  Json json = head("quarantine", q.problem, q.key, q.environment);
  json["candidate"] = bare_candidate_json(q.candidate);
  json["cause"] = q.cause;
  json["date"] = date_text(q.date);
  return json;
}
Json json_of(const PutBinary& put) {
  return {{"kind", "binary"},
          {"key", hexadecimal(put.binary.key)},
          {"date", date_text(put.binary.date)},
          {"code", hexadecimal(put.binary.code)}};
}
Json json_of(const Forget& forget) { return head("forget", "", forget.key, forget.environment); }

// Reads the fields of one object and, at the end, complains about those that nobody asked for.
class Fields {
 public:
  Fields(const Json& object, std::string name) : object_(object), name_(std::move(name)) {
    if (!object.is_object()) throw BadLine(name_, "must be an object");
  }
  void finish() const {
    if (used_ == object_.size()) return;
    for (const auto& [name, value] : object_.items()) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) throw BadLine(path(name), "is unknown");
    }
  }

  std::string text(const char* name) { return get(name, &Json::is_string, "must be a string").get<std::string>(); }
  bool boolean(const char* name) { return get(name, &Json::is_boolean, "must be true or false").get<bool>(); }
  double time(const char* name) {
    const double value = get(name, &Json::is_number, "must be a number of nanoseconds").get<double>();
    if (!std::isfinite(value) || value < 0) throw BadLine(path(name), "must be a finite time that is not negative");
    return value;
  }
  double number(const char* name) { return get(name, &Json::is_number, "must be a number").get<double>(); }
  bool has(const char* name) const { return object_.contains(name); }
  template <class T>
  T integer(const char* name) {
    const Json& value = get(name, &Json::is_number_integer, "must be an integer");
    if constexpr (std::is_unsigned_v<T>) {
      const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<T>::max();
      if (!fits) throw BadLine(path(name), fmt::format("must lie in 0 to {}", std::numeric_limits<T>::max()));
    } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      throw BadLine(path(name), "is too large");
    }
    return value.get<T>();
  }
  std::vector<std::uint8_t> bytes(const char* name) {
    const std::string digits = text(name);
    if (digits.size() % 2 != 0) throw BadLine(path(name), "must be pairs of hexadecimal digits");
    std::vector<std::uint8_t> result(digits.size() / 2);
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<std::uint8_t>(hexadecimal(name, std::string_view(digits).substr(2 * i, 2)));
    }
    return result;
  }
  std::uint64_t hexadecimal_number(const char* name) {
    const std::string digits = text(name);
    if (digits.size() != 16) throw BadLine(path(name), "must be 16 hexadecimal digits");
    return hexadecimal(name, digits);
  }
  ProblemKey key(const char* name) {
    const std::string digits = text(name);
    if (digits.size() != 32) throw BadLine(path(name), "must be 32 hexadecimal digits");
    return {hexadecimal(name, std::string_view(digits).substr(0, 16)),
            hexadecimal(name, std::string_view(digits).substr(16))};
  }
  template <class Enumeration, std::size_t N>
  Enumeration symbol(const char* name, const std::array<std::string_view, N>& symbols) {
    const std::string value = text(name);
    for (std::size_t i = 0; i < N; ++i) {
      if (symbols[i] == value) return static_cast<Enumeration>(i);
    }
    throw BadLine(path(name), fmt::format("must be one of {}", fmt::join(symbols, ", ")));
  }
  std::chrono::sys_seconds date(const char* name) {
    const std::string value = text(name);
    int year = 0, length = 0;
    unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0;
    const int fields =
        std::sscanf(value.c_str(), "%4d-%2u-%2uT%2u:%2u:%2uZ%n", &year, &month, &day, &hour, &minute, &second, &length);
    const std::chrono::year_month_day calendar{std::chrono::year(year), std::chrono::month(month),
                                               std::chrono::day(day)};
    if (fields == 6 && length == static_cast<int>(value.size()) && calendar.ok() && hour < 24 && minute < 60 &&
        second < 60) {
      return std::chrono::sys_days(calendar) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
             std::chrono::seconds(second);
    }
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (value.empty() || error != std::errc() || end != value.data() + value.size()) {
      throw BadLine(path(name), "must be a date such as 2026-11-30T22:00:00Z");
    }
    return std::chrono::sys_seconds(std::chrono::seconds(seconds));
  }
  const Json& child(const char* name) { return get(name, nullptr, ""); }
  std::string path(const std::string& name) const { return name_.empty() ? name : name_ + "." + name; }

 private:
  const Json& get(const char* name, bool (Json::*is)() const noexcept, const char* otherwise) {
    const auto found = object_.find(name);
    if (found == object_.end()) throw BadLine(path(name), "is missing");
    if (is != nullptr && !((*found).*is)()) throw BadLine(path(name), otherwise);
    names_.emplace_back(name);
    ++used_;
    return *found;
  }
  std::uint64_t hexadecimal(const char* name, std::string_view digits) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      throw BadLine(path(name), "must be hexadecimal digits");
    }
    return value;
  }

  const Json& object_;
  std::string name_;
  std::size_t used_ = 0;
  std::vector<std::string> names_;
};

Candidate bare_candidate_of(Fields& fields) {
  Candidate result;
  result.solver = fields.text("solver");
  if (result.solver.empty()) throw BadLine(fields.path("solver"), "must not be empty");
  result.version = fields.integer<std::uint32_t>("version");
  result.configuration = fields.text("configuration");
  return result;
}

RecordedCandidate candidate_of(const Json& json, std::string name) {
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  Fields fields(json, std::move(name));
  RecordedCandidate result;
  result.candidate = bare_candidate_of(fields);
  result.timing.median = Nanoseconds(fields.time("median_ns"));
  result.timing.low = Nanoseconds(fields.time("low_ns"));
  result.timing.high = Nanoseconds(fields.time("high_ns"));
  result.timing.samples = fields.integer<std::uint32_t>("samples");
  result.workspace = fields.integer<std::uint64_t>("workspace");
  fields.finish();
  return result;
}

std::string problem_of(Fields& fields) {
  std::string problem = fields.text("problem");
  if (problem.empty()) throw BadLine("problem", "must not be empty");
  return problem;
}

Change environment_of(Fields& fields) {
  Environment e{fields.text("vendor"), fields.text("architecture"), fields.text("device"), {}};
  const Json& facts = fields.child("facts");
  if (!facts.is_object()) throw BadLine("facts", "must be an object");
  for (const auto& [name, value] : facts.items()) {
    if (!value.is_string()) throw BadLine("facts." + name, "must be a string");
    e.facts[name] = value.get<std::string>();
  }
  if (fields.hexadecimal_number("id") != e.id()) throw BadLine("id", "does not fit the environment's facts");
  return PutEnvironment{std::move(e)};
}

Change record_of(Fields& fields) {
  Record r;
  r.problem = problem_of(fields);
  r.key = fields.key("key");
  r.environment = fields.hexadecimal_number("environment");
  r.measured = fields.boolean("measured");
  r.best = candidate_of(fields.child("best"), "best");
  const Json& rivals = fields.child("rivals");
  if (!rivals.is_array()) throw BadLine("rivals", "must be an array");
  for (const Json& rival : rivals) r.rivals.push_back(candidate_of(rival, fmt::format("rivals[{}]", r.rivals.size())));
  r.measurement = {fields.boolean("cold_cache"), fields.integer<std::uint32_t>("min_samples")};
  r.date = fields.date("date");
  r.budget_spent = std::chrono::nanoseconds(fields.integer<std::int64_t>("budget_spent_ns"));
  r.evaluations = fields.integer<std::uint64_t>("evaluations");
  r.complete = fields.boolean("complete");
  r.stop = fields.symbol<StopReason>("stop", stop_reasons);
  if (fields.has("judgement")) {
    Fields judgement(fields.child("judgement"), "judgement");
    r.judgement =
        Judgement{judgement.symbol<Verdict>("verdict", verdicts), judgement.number("ratio"), judgement.text("cause")};
    judgement.finish();
  }
  return MergeRecord{std::move(r)};
}

CodeFacts code_facts_of(const Json& json) {
  Fields fields(json, "facts");
  CodeFacts facts;
  for (const auto& [name, value] : json.items()) facts[name] = fields.integer<std::int64_t>(name.c_str());
  return facts;
}

Change trial_of(Fields& fields) {
  Trial t;
  t.problem = problem_of(fields);
  t.key = fields.key("key");
  t.environment = fields.hexadecimal_number("environment");
  t.candidate = candidate_of(fields.child("candidate"), "candidate");
  t.status = fields.symbol<TrialStatus>("status", trial_statuses);
  t.reason = fields.text("reason");
  t.date = fields.date("date");
  t.cold_cache = fields.has("cold_cache") && fields.boolean("cold_cache");
  if (fields.has("facts")) t.facts = code_facts_of(fields.child("facts"));
  return MergeTrial{std::move(t)};
}

Change quarantine_of(Fields& fields) {
  Quarantined q;
  q.problem = problem_of(fields);
  q.key = fields.key("key");
  q.environment = fields.hexadecimal_number("environment");
  Fields candidate(fields.child("candidate"), "candidate");
  q.candidate = bare_candidate_of(candidate);
  candidate.finish();
  q.cause = fields.text("cause");
  q.date = fields.date("date");
  return PutQuarantine{std::move(q)};
}

Change binary_of(Fields& fields) {
  Binary b;
  const std::vector<std::uint8_t> key = fields.bytes("key");
  if (key.size() != b.key.size()) throw BadLine("key", "must be 32 hexadecimal digits");
  std::copy(key.begin(), key.end(), b.key.begin());
  b.date = fields.date("date");
  b.code = fields.bytes("code");
  return PutBinary{std::move(b)};
}

}  // namespace

nlohmann::ordered_json to_json(const Change& change) {
  return std::visit([](const auto& c) { return json_of(c); }, change);
}

Change change_of_line(std::string_view line) {
  Json json;
  try {
    json = Json::parse(line);
  } catch (const Json::parse_error& error) {
    throw BadLine("", fmt::format("no JSON at column {}", error.byte));
  } catch (const Json::exception& error) {
    throw BadLine("", error.what());  // a number that is out of range
  }
  Fields fields(json, "");
  const std::string kind = fields.text("kind");
  using Read = Change (*)(Fields&);
  static constexpr std::array<std::pair<std::string_view, Read>, 5> readers{{{"environment", environment_of},
                                                                             {"record", record_of},
                                                                             {"trial", trial_of},
                                                                             {"quarantine", quarantine_of},
                                                                             {"binary", binary_of}}};
  for (const auto& [name, read] : readers) {
    if (name != kind) continue;
    Change change = read(fields);
    fields.finish();
    return change;
  }
  throw BadLine("kind", "must be one of environment, record, trial, quarantine, binary");
}

std::string date_text(std::chrono::sys_seconds date) {
  using namespace std::chrono;
  // Outside of this the calendar of <chrono> or four digits do not reach.
  constexpr sys_seconds first = sys_days(year(0) / 1 / 1), beyond = sys_days(year(10000) / 1 / 1);
  if (date < first || date >= beyond) return std::to_string(date.time_since_epoch().count());
  const auto day = floor<days>(date);
  const year_month_day calendar(day);
  const hh_mm_ss time(date - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int(calendar.year()), unsigned(calendar.month()),
                     unsigned(calendar.day()), time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::string environment_text(std::uint64_t environment) { return fmt::format("{:016x}", environment); }

}  // namespace hone::tools
