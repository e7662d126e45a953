#include <hone/error.hpp>
#include <utility>

#include "kernels/conv2d/hip/kernel.hpp"
#include "kernels/hip/code_facts.hpp"
#include "kernels/hip/kernel_device.hpp"

namespace hone::conv2d::hip {
namespace {

using hone::hip::KernelDevice;
using hone::hip::LoadedCode;
using hone::hip::refuse_device;

const DeviceLimits& limits_of(const Device& device) { return dynamic_cast<const KernelDevice&>(device).limits(); }

std::span<const std::byte> direct_code(DataType type, std::string_view architecture) noexcept {
  return type == f16 ? direct_f16(architecture) : direct_f32(architecture);
}

std::shared_ptr<const Invoker> invoker_of(const Problem& p, const LoadedCode& code, const KernelLaunch& planned) {
  auto run = [p, launch = code.prepare(planned)](Stream& stream,
                                                 const hone::Arguments& operands) noexcept -> std::error_code {
    const Arguments argument = arguments(p, operands);
    if (!argument.x || !argument.weights || !argument.y || (p.bias && !argument.bias)) return Errc::launch_failed;
    return launch->run(stream, &argument);
  };
  return make_invoker(std::move(run), hone::hip::code_facts(code.kernels(), {&planned, 1}));
}

class Tiled final : public SolverFor<Problem> {
 public:
  std::string_view id() const noexcept override { return "hip_tiled"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    return refuse(p);
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
    const auto code = gpu.compile({.name = "conv2d", .text = source(), .definitions = definitions(p, configuration)});
    const KernelLaunch planned = tiled_launch(p, configuration);
    if (configuration != hip::default_configuration(p, gpu.limits())) {
      hone::hip::reject_hopeless(code->kernels(), {&planned, 1}, gpu.limits());
    }
    return invoker_of(p, *code, planned);
  }
};

class Direct final : public SolverFor<Problem> {
 public:
  std::string_view id() const noexcept override { return "hip_direct"; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    const auto& gpu = dynamic_cast<const KernelDevice&>(device);
    if (direct_code(p.type, gpu.architecture()).empty()) return hone::hip::no_precompiled_code;
    return refuse(p);
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device& device) const override {
    auto& gpu = dynamic_cast<KernelDevice&>(device);
    return invoker_of(p, *gpu.load(direct_code(p.type, gpu.architecture())), direct_launch(p));
  }
};

}  // namespace

std::shared_ptr<const Solver> tiled() { return std::make_shared<const Tiled>(); }

std::shared_ptr<const Solver> direct() { return std::make_shared<const Direct>(); }

}  // namespace hone::conv2d::hip
