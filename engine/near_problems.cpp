#include "engine/near_problems.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <hone/error.hpp>

#include "engine/log.hpp"
#include "workers/validation.hpp"

namespace hone::engine {
namespace {

constexpr std::size_t entries_looked_at = 4096;
constexpr double farthest = 6;
constexpr double farthest_trials = 3;
constexpr std::size_t telling_trials = 16;

double integer_distance(std::int64_t a, std::int64_t b) noexcept {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return 1;
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

bool usable(const Site& site, const Problem& problem, const Candidate& candidate) {
  std::string reason;
  try {
    return workers::validate(*site.operation, problem, *site.device, candidate, reason).has_value();
  } catch (const std::exception& error) {
    log().info("{}: {} is no start: {}", problem.text(), to_string(candidate), error.what());
    return false;
  }
}

}  // namespace

double distance(const Problem& a, const Problem& b) noexcept {
  double sum = 0;
  const auto fields = a.type().fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::uint64_t x = a.words()[i], y = b.words()[i];
    switch (fields[i].kind) {
      case FieldKind::integer:
        sum += integer_distance(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
        break;
      case FieldKind::real:
        sum += x == y ? 0 : 1;
        break;
      case FieldKind::boolean:
      case FieldKind::symbol:
        if (x != y) return std::numeric_limits<double>::infinity();
        break;
    }
  }
  return sum;
}

std::vector<NearRecord> near_records(const Site& site, const Problem& problem, storage::Library& library) {
  std::vector<NearRecord> near;
  for (storage::Found& found :
       library.sample(problem.key(), problem.operation(), site.environment, entries_looked_at)) {
    try {
      const Problem other = Problem::parse(problem.type(), found.record.problem);
      const bool itself = other == problem && found.match == storage::EnvironmentMatch::same;
      const double far = distance(problem, other) + static_cast<double>(found.match);
      if (!itself && far <= farthest) near.push_back({far, std::move(found.record)});
    } catch (const Error& error) {
      // Of a version of the operation that knew other fields.
      log().info("{} is not understood: {}", found.record.problem, error.what());
    }
  }
  std::ranges::stable_sort(near, {}, &NearRecord::distance);
  return near;
}

std::vector<Candidate> near_candidates(const Site& site, const Problem& problem, std::span<const NearRecord> near,
                                       std::size_t count) {
  std::vector<Candidate> candidates;
  for (const NearRecord& each : near) {
    if (candidates.size() == count) break;
    const Candidate& candidate = each.record.best.candidate;
    if (std::find(candidates.begin(), candidates.end(), candidate) != candidates.end()) continue;
    if (usable(site, problem, candidate)) candidates.push_back(candidate);
  }
  return candidates;
}

std::vector<storage::Trial> near_trials(std::span<const NearRecord> near, storage::Library& library, bool cold_cache) {
  for (const NearRecord& each : near) {
    if (each.distance > farthest_trials) break;
    std::vector<storage::Trial> trials = library.trials(each.record.key, each.record.environment);
    std::erase_if(trials, [cold_cache](const storage::Trial& trial) { return trial.cold_cache != cold_cache; });
    if (trials.size() >= telling_trials) return trials;
  }
  return {};
}

}  // namespace hone::engine
