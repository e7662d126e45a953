// The host solvers of layer normalisation, one file each.
#pragma once

#include <hone/layernorm.hpp>
#include <hone/solver.hpp>
#include <memory>

#include "kernels/host/host_only.hpp"

namespace hone::layernorm::host {

using hone::host::Facts;
using hone::host::refuse_device;

using LayernormSolver = SolverFor<Problem>;

// Raised with every change of hone's own code that may change results or times.
inline constexpr const char* kernels_version = "1";

// The operands of a launch, in the operation's order.
template <class Element>
struct Operands {
  const Element* x;
  Element* y;
  const Element* gain;   // null when the problem has none
  const Element* shift;  // likewise

  Operands(const Problem& problem, const Arguments& arguments) noexcept
      : x(arguments.get<const Element>(0)),
        y(arguments.get<Element>(1)),
        gain(problem.gain ? arguments.get<const Element>(2) : nullptr),
        shift(problem.shift ? arguments.get<const Element>(3) : nullptr) {}
  bool complete(const Problem& problem) const noexcept {
    return x && y && (gain || !problem.gain) && (shift || !problem.shift);
  }
};

// hone's own: vector code for f32 with a choice of algorithms; and a plain loop for every problem.
std::shared_ptr<const LayernormSolver> rows(Facts& facts);
std::shared_ptr<const LayernormSolver> direct();
// Adds what it knows of the library to the facts.
std::shared_ptr<const LayernormSolver> onednn(Facts& facts);

}  // namespace hone::layernorm::host
