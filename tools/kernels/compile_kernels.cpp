// Compiles the GPU kernels for the architectures that hone is made for, without a device: compile_kernels [OPTIONS].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <hone/error.hpp>

#include "kernels/hip/code_object.hpp"
#include "tools/kernels/compile_case.hpp"
#if HONE_WITH_HIP
#include "workers/compile/hiprtc.hpp"
#else
#include "workers/compile/compiler.hpp"
#endif

namespace hone::tools {
namespace {

constexpr int skipped = 77;

struct Options {
  std::vector<std::string> kernels = kernel_names();
  std::vector<std::string> architectures;
  bool all = false;
  bool list = false;
  std::int64_t max_spills = 0;
  unsigned processes = std::max(1U, std::thread::hardware_concurrency());
};

#if !HONE_WITH_HIP
workers::Code compile(const workers::CompileRequest&) { throw std::logic_error("there is no compiler"); }
#else
workers::Code compile(const workers::CompileRequest& request) { return workers::compile_by_hiprtc(request); }
#endif

// What became of one case.
struct Outcome {
  std::string failure;  // empty when it compiled
  std::int64_t spilled_registers = 0;
  std::int64_t vector_registers = 0;
};

Outcome try_case(const CompileCase& item, const Target& target) {
  const workers::Code code = compile({.name = item.kernel,
                                      .source = std::string(item.source),
                                      .options = item.definitions,
                                      .architecture = target.architecture});
  Outcome outcome;
  for (const hip::KernelFacts& facts : hip::read_code_object(code)) {
    outcome.spilled_registers += facts.spilled_registers;
    outcome.vector_registers = std::max(outcome.vector_registers, facts.vector_registers);
    if (facts.name == item.kernel && facts.local_memory_bytes != item.local_memory_bytes) {
      outcome.failure = fmt::format("it takes {} bytes of local memory, and the rules count {}",
                                    facts.local_memory_bytes, item.local_memory_bytes);
    }
  }
  return outcome;
}

// In a process of its own, so that a compiler that crashes is the failure of one case. Answers with a line a case:
// number, spilled registers, vector registers, failure.
void serve(const std::vector<CompileCase>& cases, const Target& target, unsigned process, unsigned processes, int to) {
  for (std::size_t i = process; i < cases.size(); i += processes) {
    Outcome outcome;
    try {
      outcome = try_case(cases[i], target);
    } catch (const std::exception& error) {
      outcome.failure = error.what();
    }
    std::replace(outcome.failure.begin(), outcome.failure.end(), '\n', ' ');
    const std::string line = fmt::format("{} {} {} {}\n", i, outcome.spilled_registers, outcome.vector_registers,
                                         outcome.failure.substr(0, 3000));
    // A line is shorter than PIPE_BUF, so it arrives whole.
    if (write(to, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
  }
}

// Reads every line until the last writer is gone.
std::map<std::size_t, Outcome> read_outcomes(int from) {
  std::string text;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(from, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  std::map<std::size_t, Outcome> outcomes;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    std::size_t number = 0;
    Outcome outcome;
    int used = 0;
    if (std::sscanf(line.c_str(), "%zu %ld %ld %n", &number, &outcome.spilled_registers, &outcome.vector_registers,
                    &used) == 3) {
      outcome.failure = line.substr(static_cast<std::size_t>(used));
      outcomes.emplace(number, outcome);
    }
  }
  return outcomes;
}

std::map<std::size_t, Outcome> compile_all(const std::vector<CompileCase>& cases, const Target& target,
                                           unsigned processes) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(Errc::out_of_memory, "no pipe to the compiling processes could be opened");
  std::vector<pid_t> children;
  for (unsigned process = 0; process < processes; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      serve(cases, target, process, processes, ends[1]);
      _exit(0);
    }
    if (child > 0) children.push_back(child);
    if (child < 0) fmt::print(stderr, "a compiling process could not be started; its cases will fail\n");
  }
  close(ends[1]);
  const auto outcomes = read_outcomes(ends[0]);
  close(ends[0]);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return outcomes;
}

// Prints what happened; the number of failures.
std::size_t report(const std::string& kernel, const Target& target, const std::vector<CompileCase>& cases,
                   const std::map<std::size_t, Outcome>& outcomes, const Options& options, double seconds) {
  std::size_t failures = 0, spilling = 0, defaults = 0;
  std::int64_t most_registers = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CompileCase& item = cases[i];
    const auto found = outcomes.find(i);
    const Outcome outcome =
        found != outcomes.end() ? found->second : Outcome{.failure = "the compiler's process ended"};
    defaults += item.is_default ? 1 : 0;
    spilling += outcome.spilled_registers > 0 ? 1 : 0;
    most_registers = std::max(most_registers, outcome.vector_registers);
    std::string failure = outcome.failure;
    if (failure.empty() && item.is_default && outcome.spilled_registers > options.max_spills) {
      failure =
          fmt::format("a default spills {} registers, more than {}", outcome.spilled_registers, options.max_spills);
    }
    if (failure.empty()) continue;
    ++failures;
    fmt::print("FAILED {} {} '{}' {}: {}\n", kernel, target.architecture, item.problem, item.configuration, failure);
  }
  fmt::print("{} {}: {} compiled ({} defaults), {} failed, {} spill, at most {} vector registers, {:.0f} s\n", kernel,
             target.architecture, cases.size() - failures, defaults, failures, spilling, most_registers, seconds);
  std::fflush(stdout);
  return failures;
}

int run(const Options& options) {
  if (!HONE_WITH_HIP && !options.list) {
    fmt::print("skipped: this build has no HIP compiler (Debian: libamdhip64-dev, then configure again)\n");
    return skipped;
  }
  std::size_t failures = 0;
  for (const std::string& kernel : options.kernels) {
    for (const Target& target : targets()) {
      const auto& wanted = options.architectures;
      if (!wanted.empty() && std::ranges::find(wanted, target.architecture) == wanted.end()) continue;
      const std::vector<CompileCase> cases = compile_cases(kernel, target, options.all);
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
  CLI::App app("Compiles the GPU kernels for gfx906, gfx908, gfx90a and gfx1030; needs no GPU");
  app.add_option("--kernel", options.kernels, "Kernels; all when left out");
  app.add_option("--architecture", options.architectures, "Architectures; all when left out");
  app.add_flag("--all", options.all, "Every configuration instead of a sample that covers all pairs of values");
  app.add_flag("--list", options.list, "Only count");
  app.add_option("--max-spills", options.max_spills, "Registers that a default may spill")->capture_default_str();
  app.add_option("--processes", options.processes, "Compiling processes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.footer(
      "Exit status: 0 all compiled, 1 some did not or a default spills, 77 there is no compiler.\n"
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
