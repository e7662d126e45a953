// A data set as `hone learn export` writes it: a head in JSON on the first line after "# ", then CSV with one line a
// trial. The head names format, version, operation, the unit of time, the environment and the problem's fields. The
// last columns, "fact_" and a name, are facts of the candidates' code, as far as at least one trial has them.
#pragma once

#include <hone/environment.hpp>
#include <hone/problem.hpp>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "storage/record.hpp"
#include "tools/learn/data_set_builder.hpp"

namespace hone::tools::learn {

// A trial and whether its configuration is the solver's default for the problem.
struct ExportedTrial {
  Problem problem;
  storage::Trial trial;
  bool is_default = false;
};

// `solvers`: ids in the order of preference; the first is the default that answers are compared with.
void write_trial_table(std::ostream& out, const ProblemType& type, const Environment& environment,
                       const std::vector<std::string>& solvers, const std::vector<ExportedTrial>& trials);

// Adds the trials in `text`, the contents of `file`. A solver's default configuration is one candidate whatever it is
// for each problem, and therefore without parameters and facts. Throws Error(invalid_option): a head that is missing or
// damaged, another operation, a missing column.
void read_trial_table(const std::string& file, std::string_view text, const ReadOptions& options,
                      DataSetBuilder& builder);

}  // namespace hone::tools::learn
