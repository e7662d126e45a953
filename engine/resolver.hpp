// First sight of a problem: which answer can be given now, and what is known beyond it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/index.hpp"
#include "engine/plan.hpp"
#include "engine/verdict.hpp"
#include "storage/library.hpp"

namespace hone::engine {

// An operation on a device, with everything that its measurements depend on.
struct Site {
  std::shared_ptr<const Operation> operation;
  std::shared_ptr<Device> device;
  Environment environment;  // the device's and the operation's facts together
  std::uint64_t environment_id = 0;
};

// What the operation's measurements on the device depend on.
Environment environment_of(const Device& device, const Operation& operation);

// A stored candidate that passed validation.
struct Claim {
  Provenance known = Provenance::fallback;
  Source source = Source::same_device;
  bool complete = true;     // the search behind it had come to its own end
  bool cold_cache = false;  // how its times were taken
  storage::RecordedCandidate best;
  std::vector<storage::RecordedCandidate> rivals;
  bool shortlist = false;  // a model was not sure: the default against the candidates that it would measure
};

// Whether the claim's times were taken with the caches of the policy: others are not compared.
inline bool same_caches(const Claim& claim, const Policy& policy) noexcept {
  return claim.cold_cache == cold_cache(policy);
}

struct Resolution {
  std::unique_ptr<Answer> answer;  // empty with a reason when nothing can be given now
  std::optional<Claim> claim;
  bool claim_answered = false;  // false with a claim: it must be compiled first
  std::uint64_t skipped = 0;    // stored candidates that failed validation
  bool runnable = false;        // some solver is applicable, now or after compiling
};

enum class Records : std::uint8_t { use, ignore };

// The first that applies: user record of this environment, user record of another one, system record, the operation's
// heuristic where it may be asked in the foreground, the solvers' order. Stored candidates are validated and must not
// be quarantined; one that compiles is a claim but not the answer. Takes microseconds: reads the stores, prepares at
// most one candidate that needs no compiling. `excluded` candidates count as quarantined.
Resolution resolve(const Site& site, const Problem& problem, storage::Library& library, Records records,
                   std::span<const Candidate> excluded = {});

}  // namespace hone::engine
