// How near the search of `hone tune` comes to exhaustive search of hone's own matrix product, with a fifth of its
// evaluations, on ten problems of the demo.
//
//   host_search_bench [--share 0.2] [--patience N] [--problems 10]
//
// Every configuration is timed a little; the fastest forty and what the search found meet in a first race, in turns.
// The fastest four of these meet it again with fresh samples, so that nothing profits from the noise that it was chosen
// by; the fastest of this race is the optimum.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <asio/use_future.hpp>
#include <chrono>
#include <cmath>
#include <hone/gemm.hpp>
#include <hone/hone.hpp>
#include <random>
#include <string>
#include <vector>

#include "tools/demo_server/encoder.hpp"

namespace {

using namespace hone;
using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr std::string_view searched = "blocked";
constexpr std::size_t finalists = 40;
constexpr std::size_t best_few = 4;

// gemm with the searched solver alone.
class OneSolver final : public Operation {
 public:
  OneSolver() : gemm_(gemm::operation()) {
    for (const auto& solver : gemm_->solvers()) {
      if (solver->id() == searched) solvers_.push_back(solver);
    }
  }
  const ProblemType& problem_type() const noexcept override { return gemm_->problem_type(); }
  std::span<const std::shared_ptr<const Solver>> solvers() const noexcept override { return solvers_; }
  std::string_view fallback() const noexcept override { return searched; }
  Refusal validate(const Problem& p) const override { return gemm_->validate(p); }
  std::vector<Operand> operands(const Problem& p) const override { return gemm_->operands(p); }
  void reference(const Problem& p, std::span<const std::span<std::byte>> o) const override { gemm_->reference(p, o); }
  ErrorBound error_bound(const Problem& p) const override { return gemm_->error_bound(p); }
  std::uint64_t workspace_limit(const Problem& p) const override { return gemm_->workspace_limit(p); }

 private:
  std::shared_ptr<const Operation> gemm_;
  std::vector<std::shared_ptr<const Solver>> solvers_;
};

struct Entry {
  Configuration configuration;
  std::shared_ptr<const Invoker> invoker = {};
  double time = 0;  // ns of a launch
};

// Times launches on buffers of its own.
class Stopwatch {
 public:
  Stopwatch(const Operation& operation, const Problem& problem, Device& device)
      : stream_(device.make_stream(StreamPriority::normal)) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const Operand& operand : operation.operands(problem)) {
      buffers_.push_back(device.allocate(std::max<std::size_t>(operand.count, 1) * sizeof(float)));
      auto* values = reinterpret_cast<float*>(buffers_.back().get());
      std::generate_n(values, operand.count, [&] { return uniform(random); });
    }
  }
  double sample(const Invoker& invoker, int launches) {
    const auto launch = [&] {
      return invoker.run(*stream_, {buffers_[0].get(), buffers_[1].get(), buffers_[2].get(), buffers_[3].get()});
    };
    std::chrono::nanoseconds elapsed{0};
    if (const std::error_code error = stream_->time(launch, launches, elapsed)) throw std::system_error(error);
    return Nanoseconds(elapsed).count() / launches;
  }

 private:
  std::unique_ptr<Stream> stream_;
  std::vector<Buffer> buffers_;
};

int launches_for(Nanoseconds batch, double launch) {
  return std::clamp(static_cast<int>(batch.count() / launch), 1, 10000);
}

// The least of four short samples, or one run of those that are far behind: good enough to leave out most.
void time_a_little(std::vector<Entry>& entries, Stopwatch& stopwatch) {
  double best = HUGE_VAL;
  for (Entry& entry : entries) {
    const double first = stopwatch.sample(*entry.invoker, 1);
    entry.time = first;
    if (first > 3 * best) continue;
    const int launches = launches_for(std::chrono::microseconds(60), first);
    for (int i = 0; i < 3; ++i) entry.time = std::min(entry.time, stopwatch.sample(*entry.invoker, launches));
    best = std::min(best, entry.time);
  }
}

// Medians of samples taken in turns, each round beginning with another one.
void race(std::vector<Entry>& entries, Stopwatch& stopwatch, int rounds) {
  std::vector<std::vector<double>> samples(entries.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < entries.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % entries.size();
      samples[i].push_back(
          stopwatch.sample(*entries[i].invoker, launches_for(std::chrono::microseconds(300), entries[i].time)));
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::nth_element(samples[i].begin(), samples[i].begin() + rounds / 2, samples[i].end());
    entries[i].time = samples[i][static_cast<std::size_t>(rounds / 2)];
  }
}

struct Found {
  Configuration configuration;
  std::uint64_t evaluations = 0;
};

// As `hone tune` does it.
Found search(const std::shared_ptr<const Operation>& operation, const Problem& problem, std::uint64_t evaluations,
             std::uint64_t patience, const SearchSpace& space) {
  EngineOptions options{.policy = Policy::offline()};
  options.policy.max_tuning_time = std::chrono::minutes(10);
  options.policy.max_evaluations = evaluations;
  if (patience > 0) options.policy.patience = patience;
  Engine engine(options);
  engine.add(host_device());
  engine.add(operation);
  engine.find(problem);
  const Solution solution = engine.async_settle(problem, asio::use_future).get();
  return {space.parse(solution.candidate().configuration).value(), engine.statistics().trials};
}

double compare(const std::shared_ptr<const Operation>& operation, const Problem& problem, double share,
               std::uint64_t patience) {
  const auto device = host_device();
  const Solver& solver = *operation->solvers().front();
  const SearchSpace space = solver.search_space(problem, *device);
  const auto begin = Clock::now();
  const Found found = search(operation, problem, static_cast<std::uint64_t>(share * static_cast<double>(space.count())),
                             patience, space);
  const double search_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<Entry> all;
  space.for_each([&](const Configuration& configuration) {
    all.push_back({configuration, solver.prepare(problem, configuration, *device)});
    return true;
  });
  const std::size_t count = all.size();
  Stopwatch stopwatch(*operation, problem, *device);
  time_a_little(all, stopwatch);
  const auto faster = [](const Entry& a, const Entry& b) { return a.time < b.time; };
  std::sort(all.begin(), all.end(), faster);
  const auto place = std::find_if(all.begin(), all.end(),
                                  [&](const Entry& entry) { return entry.configuration == found.configuration; });
  if (place - all.begin() >= static_cast<std::ptrdiff_t>(finalists)) std::swap(all[finalists - 1], *place);
  all.resize(std::min(all.size(), finalists));
  race(all, stopwatch, 31);
  std::sort(all.begin(), all.end(), faster);
  Entry own = *std::find_if(all.begin(), all.end(),
                            [&](const Entry& entry) { return entry.configuration == found.configuration; });
  std::vector<Entry> last{own};
  for (const Entry& entry : all) {
    if (last.size() <= best_few && !(entry.configuration == own.configuration)) last.push_back(entry);
  }
  race(last, stopwatch, 101);
  const double ratio = last.front().time / std::min_element(last.begin(), last.end(), faster)->time;
  fmt::print("{:<90} {:>6} configurations, {:>5} evaluations ({:>4.1f} %, {:.1f} s), found / optimum {:.3f}\n",
             problem.text().substr(0, 90), count, found.evaluations,
             100 * static_cast<double>(found.evaluations) / static_cast<double>(count), search_seconds, ratio);
  std::fflush(stdout);
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The search of `hone tune` against exhaustive search of hone's own matrix product.");
  double share = 0.2;
  std::size_t most = 10;
  std::uint64_t patience = 0;
  app.add_option("--share", share, "of the evaluations of exhaustive search")->check(CLI::Range(0.001, 1.0));
  app.add_option("--problems", most, "at most so many")->check(CLI::Range(1, 10));
  app.add_option("--patience", patience, "evaluations without improvement that end a search (default: hone tune's)");
  CLI11_PARSE(app, argc, argv);
  const auto operation = std::make_shared<const OneSolver>();
  std::vector<Problem> problems;
  for (const std::int64_t tokens : {8, 40}) {
    const auto layer = demo::layer_problems(demo::Shape{}, tokens);
    // All but the output projection, whose shape is half that of another.
    for (const std::size_t i : {0u, 1u, 2u, 4u, 5u}) problems.emplace_back(layer[i]);
  }
  problems.resize(std::min(problems.size(), most), problems.front());
  double logarithm = 0;
  double worst = 1;
  for (const Problem& problem : problems) {
    const double ratio = compare(operation, problem, share, patience);
    logarithm += std::log(ratio) / static_cast<double>(problems.size());
    worst = std::max(worst, ratio);
  }
  fmt::print("geometric mean {:.3f}, worst {:.3f}\n", std::exp(logarithm), worst);
}
