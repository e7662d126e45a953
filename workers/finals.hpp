// The last stage of a job: the incumbent against the few challengers that are left, in turns.
#pragma once

#include <vector>

#include "workers/evaluation.hpp"
#include "workers/job.hpp"
#include "workers/race.hpp"

namespace hone::workers {

// Races the challengers against the incumbent, or against the first challenger where `incumbent` is null, and records
// the timings. Adds to the outcome: prepared, and, with an incumbent, comparisons with the fastest challenger first,
// and the load. `rules.probe` is set here. False when `rules.proceed` or a cancellation ended it early. An incumbent
// that fails is recorded as failed, and the challengers race without it. Throws what Evaluation throws.
bool run_finals(Evaluation& evaluation, Entrant* incumbent, std::vector<Entrant*> challengers, RaceRules rules,
                Outcome& outcome);

}  // namespace hone::workers
