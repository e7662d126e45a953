// Compiles the GPU kernels for the architectures that hone is made for, without a device: compile_kernels [OPTIONS].
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <hone/error.hpp>

#include "kernels/hip/code_facts.hpp"
#include "kernels/hip/code_object.hpp"
#include "tools/kernels/compile_case.hpp"
#include "workers/compile/child_compiler.hpp"

namespace hone::tools {
namespace {

constexpr int skipped = 77;

struct Options {
  std::vector<std::string> kernels = kernel_names();
  std::vector<std::string> architectures;
  bool all = false;
  bool defaults = false;
  bool list = false;
  std::int64_t max_spills = 0;
  unsigned processes = std::max(1U, std::thread::hardware_concurrency());
};

// What became of one case.
struct Outcome {
  std::string failure;  // empty when it compiled
  std::int64_t spilled_registers = 0;
  std::int64_t vector_registers = 0;
  Refusal hopeless;
};

Outcome try_case(workers::Compiler& compiler, const CompileCase& item, const Target& target) {
  Outcome outcome;
  try {
    const workers::Code code = compiler.compile({.name = item.kernel,
                                                 .source = std::string(item.source),
                                                 .options = item.definitions,
                                                 .architecture = target.architecture});
    if (!target.has_facts) return outcome;
    const std::vector<hip::KernelFacts> kernels = hip::read_code_object(code);
    outcome.hopeless = hip::hopeless(kernels, item.launches, target.limits);
    for (const hip::KernelFacts& facts : kernels) {
      outcome.spilled_registers += facts.spilled_registers;
      outcome.vector_registers = std::max(outcome.vector_registers, facts.vector_registers);
      if (facts.name == item.kernel && facts.local_memory_bytes != item.local_memory_bytes) {
        outcome.failure = fmt::format("it takes {} bytes of local memory, and the rules count {}",
                                      facts.local_memory_bytes, item.local_memory_bytes);
      }
    }
  } catch (const std::exception& error) {
    outcome.failure = error.what();
  }
  return outcome;
}

// Each thread has a compiler's process: one that crashes is the failure of one case.
std::vector<Outcome> compile_all(const std::vector<CompileCase>& cases, const Target& target, unsigned threads) {
  workers::ChildCompiler compiler({.program = {HONE_HIP_COMPILER}, .version = ""});
  std::vector<Outcome> outcomes(cases.size());
  std::atomic<std::size_t> next = 0, done = 0;
  std::vector<std::jthread> working;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  for (unsigned thread = 0; thread < threads; ++thread) {
    working.emplace_back([&] {
      for (std::size_t i = next++; i < cases.size(); i = next++) {
        outcomes[i] = try_case(compiler, cases[i], target);
        const std::size_t count = ++done;
        if (terminal)
          fmt::print(stderr, "\r{} {}: {} of {}\033[K", cases[i].kernel, target.architecture, count, cases.size());
      }
    });
  }
  working.clear();
  if (terminal) fmt::print(stderr, "\r\033[K");
  return outcomes;
}

// Prints what happened; the number of failures.
std::size_t report(const std::string& kernel, const Target& target, const std::vector<CompileCase>& cases,
                   const std::vector<Outcome>& outcomes, const Options& options, double seconds) {
  std::size_t failures = 0, spilling = 0, hopeless = 0, defaults = 0;
  std::int64_t most_registers = 0, most_spilled = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CompileCase& item = cases[i];
    const Outcome& outcome = outcomes[i];
    defaults += item.is_default ? 1 : 0;
    spilling += outcome.spilled_registers > 0 ? 1 : 0;
    hopeless += outcome.hopeless ? 1 : 0;
    most_registers = std::max(most_registers, outcome.vector_registers);
    most_spilled = std::max(most_spilled, outcome.spilled_registers);
    std::string failure = outcome.failure;
    if (failure.empty() && item.is_default && outcome.spilled_registers > options.max_spills) {
      failure =
          fmt::format("a default spills {} registers, more than {}", outcome.spilled_registers, options.max_spills);
    }
    if (failure.empty() && item.is_default && outcome.hopeless) failure = "a default: " + *outcome.hopeless;
    if (failure.empty()) continue;
    ++failures;
    fmt::print("FAILED {} {} '{}' {}: {}\n", kernel, target.architecture, item.problem, item.configuration, failure);
  }
  const std::string facts =
      target.has_facts ? fmt::format("{} spill at most {} registers, {} are hopeless, at most {} vector registers",
                                     spilling, most_spilled, hopeless, most_registers)
                       : "registers and local memory not read from its code";
  fmt::print("{} {}: {} compiled ({} defaults), {} failed, {}, {:.0f} s\n", kernel, target.architecture,
             cases.size() - failures, defaults, failures, facts, seconds);
  std::fflush(stdout);
  return failures;
}

int run(const Options& options) {
  if (std::string_view(HONE_HIP_COMPILER).empty() && !options.list) {
    fmt::print("skipped: this build has no {}; then configure again\n", HONE_HIP_MISSING);
    return skipped;
  }
  const Extent extent = options.all ? Extent::all : options.defaults ? Extent::defaults : Extent::sample;
  std::size_t failures = 0;
  for (const std::string& kernel : options.kernels) {
    for (const Target& target : targets()) {
      const auto& wanted = options.architectures;
      if (!wanted.empty() && std::ranges::find(wanted, target.architecture) == wanted.end()) continue;
      const std::vector<CompileCase> cases = compile_cases(kernel, target, extent);
      if (options.list) {
        fmt::print("{} {}: {} configurations\n", kernel, target.architecture, cases.size());
        continue;
      }
      const auto start = std::chrono::steady_clock::now();
      const auto outcomes = compile_all(cases, target, options.processes);
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      failures += report(kernel, target, cases, outcomes, options, elapsed.count());
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hone::tools

int main(int count, char** arguments) {
  hone::tools::Options options;
  CLI::App app("Compiles the GPU kernels for the architectures of this build (" HONE_GPU_ARCHITECTURES
               "); needs no GPU");
  app.add_option("--kernel", options.kernels, "Kernels; all when left out");
  app.add_option("--architecture", options.architectures, "Architectures; all when left out");
  app.add_flag("--all", options.all, "Every configuration instead of a sample that covers all pairs of values");
  app.add_flag("--defaults", options.defaults, "Only the defaults of typical problems")->excludes("--all");
  app.add_flag("--list", options.list, "Only count");
  app.add_option("--max-spills", options.max_spills, "Registers that a default may spill")->capture_default_str();
  app.add_option("--processes", options.processes, "Compiling processes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.footer(
      "Exit status: 0 all compiled, 1 some did not, or a default spills or is hopeless, 77 there is no compiler.\n"
      "Examples:\n"
      "  compile_kernels                                     a covering sample, as the tests do\n"
      "  compile_kernels --all --kernel gemm --architecture gfx90a   every configuration");
  CLI11_PARSE(app, count, arguments);
  try {
    for (const std::string& name : options.architectures) hone::tools::find_target(name);
    return hone::tools::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "compile_kernels: {}\n", error.what());
    return 2;
  }
}
