// How often verdicts err under simulated noise, and the bare rule beside them.
#pragma once

#include <cstdint>

#include "tests/bench/noise_model.hpp"

namespace hone::test {

struct NoiseScore {
  std::uint64_t verifications = 0;   // of healthy, and as many of slow records
  std::uint64_t false_retunes = 0;   // healthy records that were tuned
  std::uint64_t missed = 0;          // records that are truly 25 % slow and were accepted
  std::uint64_t undecided = 0;       // still inconclusive after the last retry
  std::uint64_t wrong_upgrades = 0;  // to a rival that is truly slower
  std::uint64_t jobs = 0;            // retries included
  std::uint64_t samples = 0;         // of the claimed candidate
  // The bare rule: one warm-up, one run, ratio against the tolerance.
  std::uint64_t bare_false_retunes = 0;
  std::uint64_t bare_missed = 0;
};

// One simulated machine for each seed from 1 to `seeds`. On each a worker verifies, with retries after a back-off as
// the engine makes them, `records` healthy records, whose rivals are 0.5 to 5 % slower, and as many that are truly 25 %
// slow.
NoiseScore score_verdicts(Noise noise, std::uint64_t seeds, int records);

}  // namespace hone::test
