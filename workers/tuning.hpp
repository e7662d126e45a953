// How a tuning job is done.
#pragma once

#include "workers/evaluation.hpp"
#include "workers/job.hpp"

namespace hone::workers {

// Fills comparisons, prepared and stop of the outcome. Throws what Evaluation throws.
void tune(const TuneJob& job, Evaluation& evaluation, Outcome& outcome);

}  // namespace hone::workers
