// Checks hone::hip and its kernels on the GPU that is here, tunes three matrix products, and prints their times beside
// the vendor's library. Started by tests/gpu/run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <asio/use_future.hpp>
#include <atomic>
#include <cstdio>
#include <hone/conv2d.hpp>
#include <hone/gemm.hpp>
#include <hone/hip.hpp>
#include <hone/hone.hpp>
#include <hone/layernorm.hpp>
#include <hone/softmax.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/covering_sample.hpp"
#include "tests/gpu/vendor_blas.hpp"
#include "workers/operands.hpp"
#include "workers/validation.hpp"

namespace hone::testing {
namespace {

using workers::Operands;

constexpr int skipped = 77;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;

struct Options {
  int device = 0;
  std::size_t sample = 100;
  int seconds = 60;
  int rounds = 21;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
};

// A configuration of a solver, prepared for a problem.
struct Prepared {
  Configuration configuration;
  std::shared_ptr<const Invoker> invoker;
  std::string failure;
};

// Odd sizes, so that every tile has a rest; transposes, batches, and what may follow a product.
std::vector<Problem> gemm_problems() {
  using gemm::Activation;
  using P = gemm::Problem;
  return {
      Problem(P{.m = 97, .n = 130, .k = 200}),
      Problem(P{.m = 64, .n = 64, .k = 2048, .transpose_b = true, .bias = true, .activation = Activation::relu}),
      Problem(P{.m = 33,
                .n = 257,
                .k = 75,
                .transpose_a = true,
                .alpha = 0.5F,
                .beta = 2,
                .bias = true,
                .activation = Activation::gelu}),
      Problem(P{.m = 130, .n = 96, .k = 65, .transpose_a = true, .transpose_b = true, .batch = 3}),
      Problem(P{.m = 70, .n = 131, .k = 90, .type = f16, .transpose_b = true, .bias = true}),
  };
}

std::vector<Problem> conv2d_problems() {
  using P = conv2d::Problem;
  P p{.batch = 2, .channels = 37, .height = 19, .width = 23, .filters = 41, .filter_height = 3, .filter_width = 3};
  p.pad_height = p.pad_width = 1;
  std::vector<Problem> problems = {Problem(p)};
  p.layout = conv2d::ImageLayout::nhwc;
  p.stride_width = 2;
  p.bias = true;
  p.activation = Activation::relu;
  problems.emplace_back(p);
  p.type = f16;
  p.groups = p.channels = p.filters = 12;
  p.dilation_height = 2;
  problems.emplace_back(p);
  return problems;
}

std::vector<Problem> softmax_problems() {
  using P = softmax::Problem;
  return {Problem(P{.rows = 37, .columns = 1000}),
          Problem(P{.rows = 5, .columns = 4099, .type = f16, .scale = 0.125F, .logarithm = true}),
          Problem(P{.rows = 19, .columns = 7, .stride_x = 9, .stride_y = 11})};
}

std::vector<Problem> layernorm_problems() {
  using P = layernorm::Problem;
  return {Problem(P{.rows = 37, .columns = 1000}),
          Problem(P{.rows = 5, .columns = 4099, .type = f16, .root_mean_square = true, .shift = false}),
          Problem(P{.rows = 19, .columns = 7, .gain = false, .shift = false, .stride_x = 9, .stride_y = 11})};
}

std::vector<Prepared> configurations_of(const Solver& solver, const Problem& problem, const Device& device,
                                        std::size_t sample) {
  std::vector<Prepared> result;
  result.push_back({.configuration = solver.default_configuration(problem, device)});
  const SearchSpace space = solver.search_space(problem, device);
  if (space.empty()) return result;
  for (Configuration& each : covering_sample(space, sample).configurations) {
    result.push_back({.configuration = std::move(each)});
  }
  return result;
}

// On several threads: most of it is compiling.
void prepare(std::vector<Prepared>& all, const Solver& solver, const Problem& problem, Device& device,
             unsigned threads) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> working;
  for (unsigned thread = 0; thread < threads; ++thread) {
    working.emplace_back([&] {
      for (std::size_t i = next++; i < all.size(); i = next++) {
        try {
          all[i].invoker = solver.prepare(problem, all[i].configuration, device);
        } catch (const std::exception& error) {
          all[i].failure = error.what();
        }
      }
    });
  }
}

// What is wrong with one launch; empty when nothing is.
std::string try_launch(const Invoker& invoker, Stream& stream, Operands& operands) {
  operands.reset();
  if (const std::error_code error = invoker.run(stream, operands.arguments())) return error.message();
  if (const std::error_code error = stream.synchronize()) return error.message();
  return operands.check().value_or("");
}

// The number of wrong results.
std::size_t check_solver(const Operation& operation, const Solver& solver, const Problem& problem, Device& device,
                         Stream& stream, const Options& options) {
  if (const Refusal refusal = solver.applicable(problem, device)) return 0;
  std::vector<Prepared> all = configurations_of(solver, problem, device, options.sample);
  prepare(all, solver, problem, device, options.threads);
  Operands operands(operation, problem, device, max_bytes, 1);
  std::size_t failures = 0;
  for (Prepared& each : all) {
    if (each.invoker) each.failure = try_launch(*each.invoker, stream, operands);
    if (each.failure.empty()) continue;
    ++failures;
    fmt::print("FAILED {} {} '{}' {}: {}\n", operation.problem_type().operation(), solver.id(), problem.text(),
               each.configuration.text(), each.failure);
  }
  fmt::print("{} {} '{}': {} of {} configurations right\n", operation.problem_type().operation(), solver.id(),
             problem.text(), all.size() - failures, all.size());
  std::fflush(stdout);
  return failures;
}

// The number of wrong results; a solver that runs none of the problems counts as one.
std::size_t check_operation(const Operation& operation, const std::vector<Problem>& problems, Device& device,
                            Stream& stream, const Options& options) {
  std::size_t failures = 0;
  for (const auto& solver : operation.solvers()) {
    if (!solver->id().starts_with("hip_")) continue;
    std::string refusal;
    const bool runs = std::ranges::any_of(problems, [&](const Problem& problem) {
      refusal = solver->applicable(problem, device).value_or("");
      return refusal.empty();
    });
    if (!runs) {
      ++failures;
      fmt::print("FAILED {} {}: it runs nothing here: {}\n", operation.problem_type().operation(), solver->id(),
                 refusal);
    }
    for (const Problem& problem : problems) {
      failures += check_solver(operation, *solver, problem, device, stream, options);
    }
  }
  return failures;
}

// One of those that are timed in turns.
struct Entry {
  std::string name;
  std::shared_ptr<const Invoker> invoker;
  std::vector<double> microseconds;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Batches of about two milliseconds, in turns, so that a clock that changes meets all alike.
void time_in_turns(std::vector<Entry>& entries, Stream& stream, const Operands& operands, int rounds) {
  for (int round = -1; round < rounds; ++round) {
    for (Entry& entry : entries) {
      const double last = entry.microseconds.empty() ? 2000 : entry.microseconds.back();
      const int count = std::clamp(static_cast<int>(2000 / std::max(last, 1.0)), 1, 2000);
      std::chrono::nanoseconds elapsed{0};
      const auto launch = [&] { return entry.invoker->run(stream, operands.arguments()); };
      if (const std::error_code error = stream.time(launch, count, elapsed)) {
        throw std::runtime_error(fmt::format("timing {}: {}", entry.name, error.message()));
      }
      if (round == 0) entry.microseconds.clear();  // the first batch only warmed up
      entry.microseconds.push_back(std::chrono::duration<double, std::micro>(elapsed).count() / count);
    }
  }
}

Solution tune(Engine& engine, const gemm::Problem& p) {
  const Solution solution = engine.async_settle(p, asio::use_future).get();
  if (!solution) throw std::runtime_error(fmt::format("nothing runs {}: {}", Problem(p).text(), solution.reason()));
  return solution;
}

std::vector<Entry> entries_of(const gemm::Problem& p, const Solution& tuned, Device& device, hipStream_t native) {
  std::vector<Entry> entries;
  const auto operation = gemm::operation();
  const auto fallback = workers::find_solver(*operation, "hip_direct");
  if (!fallback->applicable(Problem(p), device)) {
    entries.push_back({.name = "fallback", .invoker = fallback->prepare(Problem(p), {}, device)});
  }
  auto run = [tuned](Stream& stream, const Arguments& arguments) noexcept { return tuned.run(stream, arguments); };
  entries.push_back({.name = "tuned", .invoker = make_invoker(std::move(run))});
  if (auto vendor = vendor_product(p, native)) entries.push_back({.name = "vendor", .invoker = std::move(vendor)});
  return entries;
}

// Prints the times; the number of wrong results.
std::size_t compare(const gemm::Problem& p, const Solution& tuned, Device& device, hipStream_t native, Stream& stream,
                    const Options& options) {
  std::vector<Entry> entries = entries_of(p, tuned, device, native);
  Operands operands(*gemm::operation(), Problem(p), device, max_bytes, 2);
  std::size_t failures = 0;
  for (const Entry& entry : entries) {
    const std::string failure = try_launch(*entry.invoker, stream, operands);
    if (failure.empty()) continue;
    ++failures;
    fmt::print("FAILED {} of '{}': {}\n", entry.name, Problem(p).text(), failure);
  }
  time_in_turns(entries, stream, operands, options.rounds);
  fmt::print("'{}': {}\n", Problem(p).text(), to_string(tuned.candidate()));
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  for (const Entry& entry : entries) {
    const double time = median(entry.microseconds);
    fmt::print("  {:>8} {:>10.2f} us {:>9.0f} Gflop/s {:>7.3f} x the last one's time\n", entry.name, time,
               operations / time / 1e3, time / median(entries.back().microseconds));
  }
  if (entries.back().name != "vendor") fmt::print("  no cuBLAS or hipBLAS was found when this was built\n");
  std::fflush(stdout);
  return failures;
}

std::size_t tune_and_compare(const std::shared_ptr<Device>& device, hipStream_t native, Stream& stream,
                             const Options& options) {
  EngineOptions engine_options;
  engine_options.policy = Policy::offline();
  engine_options.policy.max_tuning_time = std::chrono::seconds(options.seconds);
  Engine engine(std::move(engine_options));
  engine.add(device);
  engine.add(gemm::operation());
  std::size_t failures = 0;
  for (const gemm::Problem& p :
       {gemm::Problem{.m = 1024, .n = 1024, .k = 1024}, gemm::Problem{.m = 16, .n = 4096, .k = 4096},
        gemm::Problem{.m = 2048, .n = 2048, .k = 512}}) {
    failures += compare(p, tune(engine, p), *device, native, stream, options);
  }
  return failures;
}

// A stream of the program's own, as a server has one.
struct NativeStream {
  explicit NativeStream(int device) {
    if (hipSetDevice(device) != hipSuccess ||
        hipStreamCreateWithPriority(&value, hipStreamNonBlocking, 0) != hipSuccess) {
      throw std::runtime_error("the device gives no stream");
    }
  }
  ~NativeStream() { static_cast<void>(hipStreamDestroy(value)); }
  NativeStream(const NativeStream&) = delete;
  NativeStream& operator=(const NativeStream&) = delete;
  hipStream_t value = nullptr;
};

int run(const Options& options) {
  std::shared_ptr<Device> device;
  try {
    device = hip_device(options.device);
  } catch (const Error& error) {
    if (error.code() != Errc::no_device) throw;
    fmt::print("skipped: there is no GPU to check hone on: {}\n", error.what());
    return skipped;
  }
  const Environment& environment = device->environment();
  fmt::print("{}: {}, {}, {}\n", device->name(), environment.vendor, environment.architecture, environment.device);
  const NativeStream native(options.device);
  const auto stream = hip_stream(device, native.value);
  std::size_t failures = 0;
  failures += check_operation(*gemm::operation(), gemm_problems(), *device, *stream, options);
  failures += check_operation(*conv2d::operation(), conv2d_problems(), *device, *stream, options);
  failures += check_operation(*softmax::operation(), softmax_problems(), *device, *stream, options);
  failures += check_operation(*layernorm::operation(), layernorm_problems(), *device, *stream, options);
  failures += tune_and_compare(device, native.value, *stream, options);
  fmt::print("{} wrong results\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hone::testing

int main(int count, char** arguments) {
  hone::testing::Options options;
  CLI::App app(
      "Checks every GPU kernel's results, tunes three matrix products, and prints their times beside the vendor's");
  app.add_option("--device", options.device, "Number of the GPU")->capture_default_str();
  app.add_option("--sample", options.sample, "Least configurations of each space; all pairs of values are covered")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "For tuning each problem")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Batches that are timed of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Compiling at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.footer("Exit status: 0 all is right, 1 something is not, 2 it could not be checked, 77 there is no GPU.");
  CLI11_PARSE(app, count, arguments);
  try {
    return hone::testing::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_check: {}\n", error.what());
    return 2;
  }
}
