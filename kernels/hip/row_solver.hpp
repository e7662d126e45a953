// Solvers of operations along rows for GPUs: one that is compiled for each configuration, and one compiled with hone.
#pragma once

#include <hone/error.hpp>
#include <hone/solver.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/hip/code_facts.hpp"
#include "kernels/hip/kernel_device.hpp"
#include "kernels/hip/row_kernel.hpp"

namespace hone::hip {

// What differs between operations along rows.
template <class Problem, class Argument>
struct RowOperation {
  std::string_view kernel;  // its name in the text
  std::string_view (*source)() noexcept;
  RowLayout (*layout)(const Problem&) noexcept;
  // Nothing where an operand is missing.
  std::optional<Argument> (*argument)(const Problem&, const RowLayout&, const Arguments&) noexcept;
  // Code compiled with hone for an architecture; empty for one that it was not compiled for.
  std::span<const std::byte> (*precompiled)(DataType, std::string_view architecture) noexcept;
};

template <class Problem, class Argument>
std::shared_ptr<const Invoker> make_row_invoker(const RowOperation<Problem, Argument>& operation, const Problem& p,
                                                const LoadedCode& code, const KernelLaunch& planned) {
  auto run = [argument_of = operation.argument, p, layout = operation.layout(p), launch = code.prepare(planned)](
                 Stream& stream, const Arguments& operands) noexcept -> std::error_code {
    const std::optional<Argument> argument = argument_of(p, layout, operands);
    return argument ? launch->run(stream, &*argument) : make_error_code(Errc::launch_failed);
  };
  return make_invoker(std::move(run), code_facts(code.kernels(), {&planned, 1}));
}

template <class Problem, class Argument>
class TunedRows final : public SolverFor<Problem> {
 public:
  explicit TunedRows(RowOperation<Problem, Argument> operation) : operation_(std::move(operation)) {}

  std::string_view id() const noexcept override { return "hip_rows"; }
  bool compiles(const Problem&) const override { return true; }
  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    return refuse_rows(operation_.layout(p));
  }
  SearchSpace search_space(const Problem& p, const Device& device) const override {
    return row_search_space(operation_.layout(p), p.type, dynamic_cast<const KernelDevice&>(device).limits());
  }
  Configuration default_configuration(const Problem& p, const Device& device) const override {
    return default_row_configuration(operation_.layout(p), p.type, dynamic_cast<const KernelDevice&>(device).limits());
  }
  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration,
                                         Device& device) const override {
    auto& gpu = dynamic_cast<KernelDevice&>(device);
    const auto code = gpu.compile({.name = operation_.kernel,
                                   .text = operation_.source(),
                                   .definitions = row_definitions(p.type, configuration)});
    const KernelLaunch planned = row_launch(operation_.kernel, operation_.layout(p), configuration);
    if (configuration != default_configuration(p, device)) {
      reject_hopeless(code->kernels(), {&planned, 1}, gpu.limits());
    }
    return make_row_invoker(operation_, p, *code, planned);
  }

 private:
  const RowOperation<Problem, Argument> operation_;
};

template <class Problem, class Argument>
class PrecompiledRows final : public SolverFor<Problem> {
 public:
  explicit PrecompiledRows(RowOperation<Problem, Argument> operation) : operation_(std::move(operation)) {}

  std::string_view id() const noexcept override { return "hip_direct"; }
  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    const auto& gpu = dynamic_cast<const KernelDevice&>(device);
    if (operation_.precompiled(p.type, gpu.architecture()).empty()) return no_precompiled_code;
    return refuse_rows(operation_.layout(p));
  }
  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device& device) const override {
    auto& gpu = dynamic_cast<KernelDevice&>(device);
    const auto code = gpu.load(operation_.precompiled(p.type, gpu.architecture()));
    return make_row_invoker(operation_, p, *code, precompiled_row_launch(operation_.kernel, operation_.layout(p)));
  }

 private:
  const RowOperation<Problem, Argument> operation_;
};

}  // namespace hone::hip
