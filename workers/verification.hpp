// How a verification job is done.
#pragma once

#include "workers/evaluation.hpp"
#include "workers/job.hpp"

namespace hone::workers {

// Fills comparisons, prepared and stop of the outcome. Throws what Evaluation throws.
void verify(const VerifyJob& job, Evaluation& evaluation, Outcome& outcome);

}  // namespace hone::workers
