// What a library leaves to do after its product.
#pragma once

#include <hone/gemm.hpp>
#include <hone/solver.hpp>

#include "kernels/gemm/host/instruction_set.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {

// The operands of a launch, in the operation's order.
struct Operands {
  const float* a;
  const float* b;
  float* c;
  const float* bias;  // null when the problem has none

  Operands(const Problem& problem, const Arguments& arguments) noexcept
      : a(arguments.get<const float>(0)),
        b(arguments.get<const float>(1)),
        c(arguments.get<float>(2)),
        bias(problem.bias ? arguments.get<const float>(3) : nullptr) {}
  bool complete(const Problem& problem) const noexcept { return a && b && c && (bias || !problem.bias); }
};

// C = activation(scale * C + bias), in one pass over every matrix of the batch.
class Epilogue {
 public:
  Epilogue(const Problem& problem, const Layout& layout, float scale = 1) noexcept
      : problem_(problem), layout_(layout), scale_(scale) {}

  void apply(const Operands& operands) const noexcept {
    if (scale_ == 1 && !problem_.bias && problem_.activation == Activation::none) return;
    for (std::int64_t i = 0; i < problem_.batch; ++i) {
      set_.finish(problem_.m, problem_.n, operands.c + i * layout_.stride_c, layout_.ldc, scale_, operands.bias,
                  problem_.activation);
    }
  }

 private:
  Problem problem_;
  Layout layout_;
  float scale_;
  const InstructionSet& set_ = instruction_set();
};

}  // namespace hone::gemm::host
