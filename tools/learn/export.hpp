// Trials out of a database.
#pragma once

#include <hone/device.hpp>
#include <hone/operation.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/learn/trial_table.hpp"

namespace hone::tools::learn {

struct CollectedTrials {
  Environment environment;
  std::vector<ExportedTrial> trials;
  std::uint64_t damaged = 0;  // entries that were left out
  std::uint64_t foreign = 0;  // trials of other operations or environments
  std::vector<std::string> complaints;
};

// The operation's trials in one environment: the one of this id (16 hexadecimal digits) or, without, the one that most
// trials are from. Whether a configuration is a default is what this build's solvers say on `device`. Throws
// Error(store_unavailable) when the database cannot be read, Error(invalid_option) when it has no such trials.
CollectedTrials collect_trials(const std::string& database, const Operation& operation, const Device& device,
                               const std::optional<std::string>& environment);

// The operation's problems in the database.
std::vector<Problem> problems_in(const std::string& database, const ProblemType& type);

}  // namespace hone::tools::learn
