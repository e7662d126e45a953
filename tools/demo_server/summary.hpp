// What the demo found out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace hone::demo {

struct SecondStart {
  std::uint64_t measured = 0;  // trials
  double throughput_rps = 0;
  double honed_rps = 0;  // the same sentences before, with the first engine at rest
};

// A value that an interrupted run did not come to is missing.
struct Summary {
  std::uint64_t sentences = 0;
  std::optional<double> first_second_rps, last_second_rps;  // the same sentences
  std::optional<double> p99_ms_honing, p99_ms_rest;
  std::optional<double> throughput_rps;       // hone's, in turns with the libraries
  std::map<std::string, double> library_rps;  // the same sentences
  std::uint64_t problems = 0, verified = 0, tuned = 0, upgrades = 0;
  std::optional<double> settled_seconds;  // when the background had nothing left to do
  std::optional<SecondStart> second_start;
  std::optional<double> largest_difference;  // of a result from OpenBLAS's, relative to the results' magnitude
  std::optional<bool> results_match;
  std::string results_checked_against;
  bool interrupted = false;
};

nlohmann::ordered_json to_json(const Summary& summary);
void print(const Summary& summary, std::FILE* out);

}  // namespace hone::demo
