// Times every solver of the matrix product on given shapes, in turns so that load meets all alike, and prints medians.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <hone/device.hpp>
#include <hone/gemm.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using hone::gemm::Activation;
using hone::gemm::Problem;
using Microseconds = std::chrono::duration<double, std::micro>;

struct Options {
  std::vector<std::string> problems;
  std::vector<std::string> only;
  int samples = 15;
  int copies = 1;
  int search = 0;
  std::string json;
};

std::vector<Problem> default_problems() {
  std::vector<Problem> problems;
  for (const std::int64_t tokens : {8, 16, 32, 64, 128}) {
    problems.push_back({.m = tokens, .n = 1152, .k = 384, .bias = true});
    problems.push_back({.m = tokens,
                        .n = tokens,
                        .k = 32,
                        .transpose_b = true,
                        .alpha = 0.17677669F,
                        .batch = 12,
                        .lda = 1152,
                        .ldb = 1152,
                        .stride_a = 32,
                        .stride_b = 32});
    problems.push_back(
        {.m = tokens, .n = 32, .k = tokens, .batch = 12, .ldb = 1152, .ldc = 384, .stride_b = 32, .stride_c = 32});
    problems.push_back({.m = tokens, .n = 384, .k = 384, .beta = 1, .bias = true});
    problems.push_back({.m = tokens, .n = 1536, .k = 384, .bias = true, .activation = Activation::gelu});
    problems.push_back({.m = tokens, .n = 384, .k = 1536, .beta = 1, .bias = true});
  }
  problems.push_back({.m = 1, .n = 1024, .k = 1024});
  problems.push_back({.m = 1, .n = 1024, .k = 1024, .transpose_b = true});
  problems.push_back({.m = 4, .n = 768, .k = 3072});
  problems.push_back({.m = 1000, .n = 1000, .k = 1000});
  problems.push_back({.m = 77, .n = 1001, .k = 333});
  return problems;
}

struct Operands {
  hone::Buffer a, b, c, bias;
};

Operands make_operands(const hone::Operation& operation, const hone::Problem& problem, hone::Device& device,
                       std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<hone::Buffer> buffers;
  for (const hone::Operand& operand : operation.operands(problem)) {
    buffers.push_back(device.allocate(operand.count * sizeof(float)));
    auto* values = reinterpret_cast<float*>(buffers.back().get());
    std::generate_n(values, operand.count, [&] { return uniform(random); });
  }
  return {buffers[0], buffers[1], buffers[2], buffers[3]};
}

struct Entry {
  std::string name;
  std::shared_ptr<const hone::Invoker> invoker;
  std::vector<Microseconds> samples;
  std::string failure;
};

Microseconds median(std::vector<Microseconds> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

// One sample of each entry in turn; each sample is a batch of at least `batch` time.
void sample(std::vector<Entry>& entries, hone::Stream& stream, const std::vector<Operands>& copies, int samples) {
  const auto batch = std::chrono::microseconds(500);
  std::size_t turn = 0;
  for (int round = 0; round <= samples; ++round) {
    for (Entry& entry : entries) {
      if (!entry.failure.empty()) continue;
      const auto launch = [&] {
        const Operands& o = copies[turn++ % copies.size()];
        return entry.invoker->run(stream, {o.a.get(), o.b.get(), o.c.get(), o.bias.get()});
      };
      const int count = entry.samples.empty()
                            ? 1
                            : std::clamp(static_cast<int>(Microseconds(batch) / entry.samples.back()), 1, 10000);
      std::chrono::nanoseconds elapsed{0};
      if (const std::error_code error = stream.time(launch, count, elapsed)) {
        entry.failure = error.message();
        continue;
      }
      entry.samples.push_back(Microseconds(elapsed) / count);
    }
  }
  for (Entry& entry : entries) {
    if (entry.failure.empty()) entry.samples.erase(entry.samples.begin());
  }
}

void add_entries(const hone::Operation& operation, const hone::Problem& problem, hone::Device& device,
                 const Options& options, std::vector<Entry>& entries) {
  std::mt19937_64 random(1);
  for (const auto& solver : operation.solvers()) {
    const std::string id(solver->id());
    if (!options.only.empty() && std::find(options.only.begin(), options.only.end(), id) == options.only.end())
      continue;
    if (const hone::Refusal refusal = solver->applicable(problem, device)) continue;
    const auto add = [&](const hone::Configuration& configuration) {
      Entry entry{configuration.empty() ? id : id + '{' + configuration.text() + '}', nullptr, {}, {}};
      try {
        entry.invoker = solver->prepare(problem, configuration, device);
      } catch (const std::exception& error) {
        entry.failure = error.what();
      }
      entries.push_back(std::move(entry));
    };
    add(solver->default_configuration(problem, device));
    const hone::SearchSpace space = solver->search_space(problem, device);
    for (int i = 0; !space.empty() && i < options.search; ++i) {
      if (const auto configuration = space.sample(random)) add(*configuration);
    }
  }
}

nlohmann::json report(const hone::Problem& problem, const Problem& p, std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
    if (x.failure.empty() != y.failure.empty()) return x.failure.empty();
    return x.failure.empty() && median(x.samples) < median(y.samples);
  });
  fmt::print("{}\n", problem.text());
  nlohmann::json times = nlohmann::json::object();
  const double operations = 2.0 * static_cast<double>(p.m * p.n * p.k * p.batch);
  for (const Entry& entry : entries) {
    if (!entry.failure.empty()) {
      fmt::print("    {:>10}  {:>7}           {}: {}\n", "-", "", entry.name, entry.failure);
      continue;
    }
    const double microseconds = median(entry.samples).count();
    fmt::print("  {} {:>10.2f} us {:>7.1f} Gflop/s  {:.3f}  {}\n", &entry == &entries.front() ? '*' : ' ', microseconds,
               operations / microseconds / 1e3, microseconds / median(entries.front().samples).count(), entry.name);
    times[entry.name] = microseconds;
  }
  return {{"problem", problem.text()}, {"microseconds", times}, {"best", entries.front().name}};
}

int run(const Options& options) {
  const auto device = hone::host_device();
  const auto operation = hone::gemm::operation();
  const auto stream = device->make_stream(hone::StreamPriority::normal);
  std::vector<Problem> problems;
  for (const std::string& text : options.problems) {
    problems.push_back(hone::Problem::parse(operation->problem_type(), text).as<Problem>());
  }
  if (problems.empty()) problems = default_problems();
  std::mt19937 random(1);
  nlohmann::json results = nlohmann::json::array();
  for (const Problem& p : problems) {
    const hone::Problem problem(p);
    if (const hone::Refusal refusal = operation->validate(problem)) {
      fmt::print(stderr, "{}: {}\n", problem.text(), *refusal);
      return 2;
    }
    std::vector<Operands> copies;
    for (int i = 0; i < options.copies; ++i) copies.push_back(make_operands(*operation, problem, *device, random));
    std::vector<Entry> entries;
    add_entries(*operation, problem, *device, options, entries);
    if (entries.empty()) continue;
    sample(entries, *stream, copies, options.samples);
    results.push_back(report(problem, p, entries));
  }
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << nlohmann::json{{"libraries", operation->facts()}, {"problems", results}}.dump(2) << '\n';
    if (!file) {
      fmt::print(stderr, "cannot write {}\n", options.json);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times every solver of the matrix product; * marks the best.");
  Options options;
  app.add_option("problem", options.problems, "as text, \"m=16 n=768 k=3072\"; default: the demo's and some others");
  app.add_option("--solver", options.only, "only these solvers, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--samples", options.samples, "samples of each candidate")->check(CLI::Range(1, 10000));
  app.add_option("--copies", options.copies, "operands used in turn; many for cold caches")->check(CLI::Range(1, 1000));
  app.add_option("--search", options.search, "random configurations tried besides the default")
      ->check(CLI::Range(0, 100000));
  app.add_option("--json", options.json, "writes the times as JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
