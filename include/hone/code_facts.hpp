// What is known of a candidate's code before it runs.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace hone {

// What a compiler says about code, by name (an identifier). GPU kernels have vector_registers, spilled_registers and
// private_memory_bytes (of a work-item), scalar_registers (of a wave) and local_memory_bytes (of a work-group), each
// the greatest of the candidate's kernels. Empty: nothing is known.
using CodeFacts = std::map<std::string, std::int64_t>;

// Thrown by Solver::prepare: the candidate's code is not worth a run. Its facts go with the failed trial.
class RejectedCode : public std::runtime_error {
 public:
  RejectedCode(const std::string& reason, CodeFacts facts) : std::runtime_error(reason), facts_(std::move(facts)) {}
  const CodeFacts& facts() const noexcept { return facts_; }

 private:
  CodeFacts facts_;
};

}  // namespace hone
