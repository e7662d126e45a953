// The matrix product's GPU kernels on the emulated runtime: the code that its compiler makes, and what runs for it.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <hone/gemm.hpp>
#include <hone/hip.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/gemm/hip/direct.hpp"
#include "kernels/gemm/hip/kernel.hpp"
#include "tests/kernels/hip/gemm_instance.hpp"
#include "tests/support/code_object.hpp"
#include "tests/support/hip_runtime/emulated_hip.hpp"
#include "tests/support/work_item_emulator.hpp"
#include "workers/hip/device.hpp"

#define ELEMENT float
namespace hone::gemm::hip::emulated {
#include "kernels/gemm/hip/direct.hip.hpp"
}  // namespace hone::gemm::hip::emulated

namespace hone::gemm::hip {

using test::EmulatedHip;
using test::EmulatedLaunch;

// The one whose configurations were compiled for the host.
inline const Problem problem{.m = 8, .n = 8, .k = 8};

// The code that the emulated compiler makes: the definitions.
inline std::string code_of(const std::vector<std::string>& definitions) {
  return fmt::format("{}", fmt::join(definitions, " "));
}

template <class Argument>
std::function<void(const EmulatedLaunch&)> kernel_of(void (*kernel)(Argument)) {
  return [kernel](const EmulatedLaunch& launch) {
    // The emulator of the language has one group at a time, whatever the streams are.
    static std::mutex one;
    const std::lock_guard lock(one);
    const auto& argument = *static_cast<const Argument*>(launch.argument);
    hone::testing::WorkItems::run(launch.groups, launch.work_group, [&] { kernel(argument); });
  };
}

inline void add_kernels(EmulatedHip& hip) {
  for (const Instance& instance : instances()) {
    const auto p = hone::Problem::parse(problem_type<Problem>(), instance.problem).as<Problem>();
    if (p.m != problem.m) continue;
    const std::string code = code_of(definitions(p, *search_space(p, {}).parse(instance.configuration)));
    hip.add_kernel(code, "gemm", sizeof(Arguments), kernel_of(instance.gemm));
    if (instance.gemm_join != nullptr) {
      hip.add_kernel(code, "gemm_join", sizeof(Arguments), kernel_of(instance.gemm_join));
    }
  }
  const auto direct = direct_f32("gfx90a");
  if (direct.empty()) return;
  // Slow, so that it does not win.
  hip.add_kernel(reinterpret_cast<const char*>(direct.data()), "gemm_direct", sizeof(DirectArguments),
                 [run = kernel_of(&emulated::gemm_direct)](const EmulatedLaunch& launch) {
                   run(launch);
                   const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
                   while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
                 });
}

inline constexpr int usual_spilled_registers = 4;

class EmulatedCompiler final : public workers::Compiler {
 public:
  explicit EmulatedCompiler(std::shared_future<void> gate = {}) : gate_(std::move(gate)) {}
  const std::string& version() const noexcept override { return version_; }
  workers::Code compile(const workers::CompileRequest& request) override {
    if (gate_.valid()) gate_.wait();
    ++compilations;
    const std::string code = code_of(request.options);
    bool known = false;
    for (const Instance& instance : instances()) {
      const auto p = hone::Problem::parse(problem_type<Problem>(), instance.problem).as<Problem>();
      known = known ||
              (p.m == problem.m && code == code_of(definitions(p, *search_space(p, {}).parse(instance.configuration))));
    }
    if (!known) throw std::runtime_error("no such instance was compiled for the host");
    return test::object_with({{"amdhsa.kernels", {test::kernel_metadata("gemm", spilled_registers)}}}, code);
  }

  static inline std::atomic<int> compilations = 0;
  static inline std::atomic<int> spilled_registers = usual_spilled_registers;  // of all code, as its metadata says

 private:
  const std::string version_ = "emulated";
  const std::shared_future<void> gate_;
};

}  // namespace hone::gemm::hip
