// Learned heuristics: what a model trained on trials advises for a problem that was never measured here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <hone/environment.hpp>
#include <hone/problem.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hone {

enum class Confidence : std::uint8_t {
  unsure,     // no advice: the problem, the environment or the answer lies outside what the model was judged on
  shortlist,  // a few candidates that are worth measuring
  sure,       // one candidate that may be offered at once; it is verified against rivals all the same
};
constexpr std::array<std::string_view, 3> symbols(Confidence) noexcept { return {"unsure", "shortlist", "sure"}; }

// A candidate as a model names it.
struct Pick {
  std::string solver;
  std::uint32_t version = 0;                      // the solver's
  std::optional<std::string> configuration = {};  // none: the solver's default configuration for the problem

  friend bool operator==(const Pick&, const Pick&) = default;
};

struct Advice {
  Confidence confidence = Confidence::unsure;
  std::vector<Pick> picks = {};  // best first; when sure, rivals after it that it should be verified against
  std::string reason = {};       // why it is unsure; no values of this problem
};

// Immutable and thread-safe.
class Heuristic {
 public:
  virtual ~Heuristic() = default;
  // True when `advise` takes no longer than a foreground call may: it is asked at a problem's first sight. Others are
  // asked on the background's thread only.
  virtual bool immediate() const noexcept = 0;
  // Advice on a valid problem of the model's operation. Only picks that `usable` accepts are given. Outside the
  // environment class, the preconditions, the ranges and the categories that the model knows it is unsure. Throws what
  // `usable` throws, and std::bad_alloc.
  virtual Advice advise(const Problem& problem, const Environment& environment,
                        const std::function<bool(const Pick&)>& usable) const = 0;
};

// The model in the file, written by `hone learn train`, for problems of the type. Throws Error(invalid_model) naming
// the file and what is wrong: it cannot be read, is damaged or of another version, or is for another operation.
std::shared_ptr<const Heuristic> load_heuristic(const std::string& file, const ProblemType& type);

class Operation;

// The operation with another heuristic, or with its first one: `engine.add(with_heuristic(gemm::operation(),
// load_heuristic("gemm.model", problem_type<gemm::Problem>())))`. Null takes the operation's own away.
std::shared_ptr<const Operation> with_heuristic(std::shared_ptr<const Operation> operation,
                                                std::shared_ptr<const Heuristic> heuristic);

// The class of environments that a model trained in this one is good for.
std::string environment_class(const Environment& environment);

}  // namespace hone
