#include "tools/demo_server/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hone::demo {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string number(const std::optional<double>& value, const char* unit) {
  return value ? fmt::format("{:.2f} {}", *value, unit) : "not measured";
}

std::string ratio(const std::optional<double>& over, const std::optional<double>& under) {
  return over && under && *under > 0 ? fmt::format("{:.2f}x", *over / *under) : "";
}

void line(std::FILE* out, const std::string& name, const std::string& value, const std::string& remark = "") {
  fmt::print(out, "  {:<44} {:>16}  {}\n", name, value, remark);
}

}  // namespace

Json to_json(const Summary& s) {
  Json json;
  json["throughput_rps"] = optional(s.throughput_rps);
  json["library_rps"] = Json::object();
  for (const auto& [name, rate] : s.library_rps) json["library_rps"][name] = rate;
  json["p99_ms_rest"] = optional(s.p99_ms_rest);
  json["p99_ms_honing"] = optional(s.p99_ms_honing);
  json["first_second_rps"] = optional(s.first_second_rps);
  json["last_second_rps"] = optional(s.last_second_rps);
  json["sentences"] = s.sentences;
  json["problems"] = s.problems;
  json["verified"] = s.verified;
  json["tuned"] = s.tuned;
  json["upgrades"] = s.upgrades;
  json["settled_seconds"] = optional(s.settled_seconds);
  json["second_start"] = nullptr;
  if (s.second_start) {
    json["second_start"] = {{"measured", s.second_start->measured},
                            {"throughput_rps", s.second_start->throughput_rps},
                            {"honed_rps", s.second_start->honed_rps}};
  }
  json["results_match"] = optional(s.results_match);
  json["results_checked_against"] = s.results_checked_against;
  json["largest_difference"] = optional(s.largest_difference);
  json["interrupted"] = s.interrupted;
  return json;
}

void print(const Summary& s, std::FILE* out) {
  fmt::print(out, "\nSummary{}\n", s.interrupted ? " (interrupted)" : "");
  line(out, "first second", number(s.first_second_rps, "requests/s"));
  line(out, "last second, the same sentences", number(s.last_second_rps, "requests/s"),
       ratio(s.last_second_rps, s.first_second_rps));
  line(out, "p99 at rest", number(s.p99_ms_rest, "ms"));
  line(out, "p99 while honing", number(s.p99_ms_honing, "ms"), ratio(s.p99_ms_honing, s.p99_ms_rest));
  line(out, "problems / verified / tuned / upgrades",
       fmt::format("{} / {} / {} / {}", s.problems, s.verified, s.tuned, s.upgrades),
       s.settled_seconds ? fmt::format("settled after {:.1f} s", *s.settled_seconds) : "");
  line(out, "hone, in turns with each library alone", number(s.throughput_rps, "requests/s"));
  for (const auto& [name, rate] : s.library_rps) {
    line(out, "  " + name + " alone", number(rate, "requests/s"), "hone " + ratio(s.throughput_rps, rate));
  }
  if (s.second_start) {
    line(out, "second start on the same database", number(s.second_start->throughput_rps, "requests/s"),
         fmt::format("{} of the honed speed on the same sentences, {} candidates measured",
                     ratio(s.second_start->throughput_rps, s.second_start->honed_rps), s.second_start->measured));
  } else {
    line(out, "second start on the same database", "not measured");
  }
  if (s.results_match) {
    line(out, "results against " + s.results_checked_against, *s.results_match ? "match" : "DIFFER",
         fmt::format("largest difference {:.1e}", s.largest_difference.value_or(0)));
  }
  std::fflush(out);
}

}  // namespace hone::demo
