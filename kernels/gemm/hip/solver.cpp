#include "kernels/gemm/hip/solver.hpp"

#include <hone/error.hpp>
#include <utility>

#include "kernels/gemm/hip/direct.hpp"
#include "kernels/gemm/hip/kernel.hpp"
#include "kernels/hip/code_facts.hpp"
#include "kernels/hip/kernel_device.hpp"

namespace hone::gemm::hip {
namespace {

using hone::hip::KernelDevice;
using hone::hip::PreparedLaunch;
using hone::hip::refuse_device;

const DeviceLimits& limits_of(const Device& device) { return dynamic_cast<const KernelDevice&>(device).limits(); }

bool complete(const Problem& p, const hone::Arguments& operands) noexcept {
  return operands.get<void>(0) && operands.get<void>(1) && operands.get<void>(2) && (!p.bias || operands.get<void>(3));
}

class Tiled final : public SolverFor<Problem> {
 public:
  std::string_view id() const noexcept override { return "hip_tiled"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    return refuse(p);
  }
  std::size_t workspace(const Problem& p, const Configuration& configuration) const override {
    return hip::workspace(p, configuration);
  }
  SearchSpace search_space(const Problem& p, const Device& device) const override {
    return hip::search_space(p, limits_of(device));
  }
  Configuration default_configuration(const Problem& p, const Device& device) const override {
    return hip::default_configuration(p, limits_of(device));
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration,
                                         Device& device) const override {
    auto& gpu = dynamic_cast<KernelDevice&>(device);
    const auto code = gpu.compile({.name = "gemm", .text = source(), .definitions = definitions(p, configuration)});
    const std::vector<KernelLaunch> planned = launches(p, configuration);
    if (configuration != hip::default_configuration(p, gpu.limits())) {
      hone::hip::reject_hopeless(code->kernels(), planned, gpu.limits());
    }
    std::vector<std::unique_ptr<const PreparedLaunch>> prepared;
    for (const KernelLaunch& launch : planned) prepared.push_back(code->prepare(launch));
    const std::size_t bytes = hip::workspace(p, configuration);
    auto run = [p, configuration, bytes, prepared = std::move(prepared)](
                   Stream& stream, const hone::Arguments& operands) noexcept -> std::error_code {
      if (!complete(p, operands)) return Errc::launch_failed;
      void* scratch = bytes > 0 ? stream.scratch(bytes) : nullptr;
      if (bytes > 0 && scratch == nullptr) return Errc::out_of_memory;
      const Arguments argument = arguments(p, configuration, operands, scratch);
      for (const auto& launch : prepared) {
        if (const std::error_code error = launch->run(stream, &argument)) return error;
      }
      return {};
    };
    return make_invoker(std::move(run), hone::hip::code_facts(code->kernels(), planned));
  }
};

class Direct final : public SolverFor<Problem> {
 public:
  std::string_view id() const noexcept override { return "hip_direct"; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    const auto& gpu = dynamic_cast<const KernelDevice&>(device);
    if (direct_code(p.type, gpu.architecture()).empty()) return hone::hip::no_precompiled_code;
    return refuse_direct(p);
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device& device) const override {
    auto& gpu = dynamic_cast<KernelDevice&>(device);
    const auto code = gpu.load(direct_code(p.type, gpu.architecture()));
    const KernelLaunch planned = direct_launch(p);
    auto run = [p, launch = code->prepare(planned)](Stream& stream,
                                                    const hone::Arguments& operands) noexcept -> std::error_code {
      if (!complete(p, operands)) return Errc::launch_failed;
      const DirectArguments argument = direct_arguments(p, operands);
      return launch->run(stream, &argument);
    };
    return make_invoker(std::move(run), hone::hip::code_facts(code->kernels(), {&planned, 1}));
  }
};

}  // namespace

std::shared_ptr<const Solver> direct() { return std::make_shared<const Direct>(); }

std::shared_ptr<const Solver> tiled() { return std::make_shared<const Tiled>(); }

}  // namespace hone::gemm::hip
