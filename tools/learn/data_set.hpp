// Measurements to learn from: problems, candidates, and the time that each candidate took for a problem.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/learning/model.hpp"
#include "tools/learn/recipe.hpp"

namespace hone::tools::learn {

enum class Split : std::uint8_t { none, train, validation, test, dropped };

// One candidate's outcome. An infinite time: it failed, which is information too.
struct Measurement {
  std::uint32_t candidate = 0;
  double time = 0;  // nanoseconds
};

struct MeasuredProblem {
  std::vector<double> values;             // one for each problem variable
  std::vector<Measurement> measurements;  // of different candidates
  double best = 0;                        // nanoseconds, the least of them
  Split split = Split::none;
  std::size_t line = 0;  // where it stands in its file, for messages
};

struct DataSet {
  std::string operation;
  std::string environment_class;  // "": not known
  std::string hash;               // of the files' bytes
  std::vector<learning::Variable> problem;
  std::vector<learning::Variable> candidate;
  std::vector<learning::ModelCandidate> candidates;
  std::uint32_t default_candidate = 0;
  std::vector<MeasuredProblem> problems;
  std::vector<std::string> complaints;  // about lines that were left out, each with file, line, field and reason
  std::size_t skipped = 0;              // problems that were left out: fewer than two candidates, or none that works

  double time_of(const MeasuredProblem& problem, std::uint32_t candidate) const noexcept;
};

struct ReadOptions {
  std::string operation;
  // Of candidate ids, for files that name candidates by an id; "": choices.csv beside the first file.
  std::string candidates;
  // "": as the file says.
  std::string environment_class;
  // Candidates to be known from the beginning, with their places: those of a model. Nothing for training.
  const learning::Model* model = nullptr;
};

// Reads files of one kind; the kind follows from the first line:
// - written by `hone learn export`: a JSON head after "# ", then one line a trial;
// - one line a problem, with a column CANDIDATE_us (_ns, _ms) for each candidate; a column CANDIDATE_median_us is
//   preferred;
// - one line a problem, with a column times_us (_ns, _ms) of "candidate id:time" pairs.
// With a model, variables and categories are the model's, and a category that it does not know has the value -1.
// Throws Error(invalid_option): a file that cannot be read, a head or column that is missing, times without a unit,
// another operation, fewer than two candidates, no usable problem.
DataSet read_data_set(const std::vector<std::string>& files, const ReadOptions& options);

}  // namespace hone::tools::learn
