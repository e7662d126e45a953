#include "workers/hip/module.hpp"

#include <fmt/format.h>

#include <hone/error.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "workers/hip/stream.hpp"

namespace hone::hip {
namespace {

void throw_on(hipError_t error, Context& context, const std::string& what) {
  const std::error_code code = context.check(error, what);
  if (!code) return;
  const std::string sentence = fmt::format("device {}: {} failed: {}", context.name(), what, describe(error));
  if (code == Errc::no_device || code == Errc::out_of_memory) throw Error(static_cast<Errc>(code.value()), sentence);
  throw std::runtime_error(sentence);
}

// What HIP can load need not be in the one format that tells.
std::vector<KernelFacts> read_kernels(std::span<const std::byte> code) {
  try {
    return read_code_object(code);
  } catch (const Error&) {
    return {};
  }
}

class Module final : public LoadedCode, public std::enable_shared_from_this<Module> {
 public:
  Module(std::shared_ptr<Context> context, std::span<const std::byte> code)
      : context_(std::move(context)), kernels_(read_kernels(code)) {
    const OnDevice here(*context_);
    throw_on(hipModuleLoadData(&module_, code.data()), *context_, "loading compiled code");
  }
  ~Module() override {
    if (!context_->in_service()) return;
    const OnDevice here(*context_);
    static_cast<void>(context_->check(hipModuleUnload(module_), "unloading compiled code"));
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::unique_ptr<const PreparedLaunch> prepare(const KernelLaunch& launch) const override;
  std::span<const KernelFacts> kernels() const noexcept override { return kernels_; }

 private:
  class Launch;
  const std::shared_ptr<Context> context_;
  const std::vector<KernelFacts> kernels_;
  hipModule_t module_ = nullptr;
};

class Module::Launch final : public PreparedLaunch {
 public:
  Launch(std::shared_ptr<const Module> module, hipFunction_t function, const KernelLaunch& geometry)
      : module_(std::move(module)), function_(function), groups_(geometry.groups), work_group_(geometry.work_group) {}

  std::error_code run(Stream& stream, const void* argument) const noexcept override {
    Context& context = *module_->context_;
    if (!context.in_service()) return Errc::no_device;
    const auto* native = dynamic_cast<const HipStream*>(&stream);
    if (native == nullptr || &native->context() != &context) return std::make_error_code(std::errc::invalid_argument);
    const OnDevice here(context);
    void* arguments[] = {const_cast<void*>(argument)};
    return context.check(hipModuleLaunchKernel(function_, groups_[0], groups_[1], groups_[2], work_group_, 1, 1, 0,
                                               native->native(), arguments, nullptr),
                         "launching a kernel");
  }

 private:
  const std::shared_ptr<const Module> module_;
  const hipFunction_t function_;
  const std::array<std::uint32_t, 3> groups_;
  const std::uint32_t work_group_;
};

std::unique_ptr<const PreparedLaunch> Module::prepare(const KernelLaunch& launch) const {
  const OnDevice here(*context_);
  hipFunction_t function = nullptr;
  const std::string name(launch.kernel);
  throw_on(hipModuleGetFunction(&function, module_, name.c_str()), *context_, "finding kernel " + name);
  return std::make_unique<Launch>(shared_from_this(), function, launch);
}

}  // namespace

std::shared_ptr<const LoadedCode> load_module(std::shared_ptr<Context> context, std::span<const std::byte> code) {
  return std::make_shared<Module>(std::move(context), code);
}

}  // namespace hone::hip
