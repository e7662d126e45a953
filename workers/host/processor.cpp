#include "workers/host/processor.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace hone::workers::host {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The fields of the first processor.
std::map<std::string, std::string> first_block(std::istream& cpuinfo) {
  std::map<std::string, std::string> fields;
  std::string line;
  while (std::getline(cpuinfo, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      if (!fields.empty()) break;
      continue;
    }
    fields.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return fields;
}

// The widest vectors that kernels can use.
std::string vector_class(const std::string& flags) {
  std::istringstream words(flags);
  std::set<std::string> have;
  for (std::string word; words >> word;) have.insert(word);
  if (have.count("avx512f") != 0) return "-avx512";
  if (have.count("avx2") != 0 && have.count("fma") != 0) return "-avx2";
  if (have.count("sve") != 0) return "-sve";
  return "";
}

unsigned usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

std::vector<Cache> data_caches() {
  std::vector<Cache> caches;
  const std::pair<int, int> names[] = {
      {1, _SC_LEVEL1_DCACHE_SIZE}, {2, _SC_LEVEL2_CACHE_SIZE}, {3, _SC_LEVEL3_CACHE_SIZE}, {4, _SC_LEVEL4_CACHE_SIZE}};
  for (const auto& [level, name] : names) {
    const long bytes = sysconf(name);
    if (bytes > 0) caches.push_back({level, static_cast<std::size_t>(bytes)});
  }
  return caches;
}

std::string machine_name() {
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

}  // namespace

Processor describe(std::istream& cpuinfo, unsigned processors, const std::vector<Cache>& caches,
                   const std::string& machine) {
  const std::map<std::string, std::string> fields = first_block(cpuinfo);
  const auto field = [&](const char* name) {
    const auto place = fields.find(name);
    return place == fields.end() ? std::string() : place->second;
  };
  Processor result;
  Environment& environment = result.environment;
  const std::string vendor = field("vendor_id").empty() ? field("CPU implementer") : field("vendor_id");
  environment.vendor = vendor == "GenuineIntel"   ? "intel"
                       : vendor == "AuthenticAMD" ? "amd"
                       : vendor.empty()           ? "unknown"
                                                  : vendor;
  const std::string flags = field("flags").empty() ? field("Features") : field("flags");
  environment.architecture = machine + vector_class(flags);
  environment.device = fmt::format("{} processors", processors);
  if (!field("model name").empty()) environment.facts["processor"] = field("model name");
  for (const char* name : {"cpu family", "model", "stepping"}) {
    if (!field(name).empty()) environment.facts[name] = field(name);
  }
  if (!flags.empty()) {
    // The kernel adds and renames flags of its own; only those that kernels are chosen by belong to the fingerprint.
    std::istringstream words(flags);
    std::set<std::string> instructions;
    for (std::string word; words >> word;) {
      if (word.starts_with("avx") || word.starts_with("amx") || word == "fma" || word.starts_with("sve")) {
        instructions.insert(word);
      }
    }
    environment.facts["instructions"] = fmt::format("{}", fmt::join(instructions, " "));
  }
  for (const Cache& cache : caches) {
    environment.facts[fmt::format("cache {}", cache.level)] = fmt::format("{} bytes", cache.bytes);
    result.last_level_cache_bytes = std::max(result.last_level_cache_bytes, cache.bytes);
  }
  return result;
}

Processor processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return describe(cpuinfo, usable_processors(), data_caches(), machine_name());
}

}  // namespace hone::workers::host
