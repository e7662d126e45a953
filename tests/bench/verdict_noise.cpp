#include "tests/bench/verdict_noise.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/verdict.hpp"
#include "tests/support/scripted_worker.hpp"

namespace hone::test {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int most_retries = 6;
constexpr std::chrono::nanoseconds first_backoff = std::chrono::milliseconds(100);
constexpr double truly_slow = 1.25;
constexpr engine::Thresholds thresholds{.tolerance = 0.15, .tie_margin = 0.02};

class Machine {
 public:
  Machine(Noise noise, std::uint64_t seed, NoiseScore& score)
      : worker_(simulated(noise, seed)), random_(seed + 1000), score_(score) {}

  void verify(bool slow) {
    const Microseconds time(std::uniform_real_distribution<>(120, 900)(random_));
    std::vector<std::shared_ptr<const ScriptedSolver>> solvers = {scripted_solver("claimed", {.time = time})};
    workers::VerifyJob job{.subject = {Problem(Doubling{}), nullptr, {}}, .claimed = candidate("claimed")};
    job.reported = time / (slow ? truly_slow : 1.0);
    job.tolerance = thresholds.tolerance;
    job.tie_margin = thresholds.tie_margin;
    for (const char* name : {"b", "c", "d"}) {
      solvers.push_back(scripted_solver(name, {.time = time * std::uniform_real_distribution<>(1.005, 1.05)(random_)}));
      job.rivals.push_back(candidate(name));
    }
    job.subject.operation = scripted_operation(solvers);
    judge(job, slow);
    judge_bare(*solvers[0], job.reported->count(), slow);
    // Some time passes between problems.
    worker_.clock->advance(std::chrono::milliseconds(std::uniform_int_distribution<>(1, 400)(random_)));
  }

 private:
  void judge(const workers::VerifyJob& job, bool slow) {
    engine::Conclusion conclusion;
    std::chrono::nanoseconds backoff = first_backoff;
    for (int attempt = 0; attempt <= most_retries; ++attempt, backoff *= 2) {
      const workers::Outcome outcome = worker_.run(job);
      ++score_.jobs;
      score_.samples += outcome.trials.at(0).timing.samples;
      conclusion = engine::verdict(engine::gather(job, outcome, engine::Source::same_device, {}), thresholds);
      if (conclusion.upgrade) ++score_.wrong_upgrades;
      if (conclusion.verdict != Verdict::inconclusive) break;
      worker_.clock->advance(backoff);
    }
    score_.verifications += slow ? 0 : 1;
    score_.false_retunes += !slow && conclusion.verdict == Verdict::tune;
    score_.missed += slow && conclusion.verdict == Verdict::accept;
    score_.undecided += conclusion.verdict == Verdict::inconclusive;
  }

  void judge_bare(const ScriptedSolver& solver, double reported, bool slow) {
    const auto stream = worker_.device->make_stream(StreamPriority::background);
    std::array<float, 16> x{};
    std::array<float, 16> y{};
    const auto invoker = solver.prepare(Doubling{}, {}, *worker_.device);
    const auto launch = [&] { return invoker->run(*stream, {x.data(), y.data()}); };
    std::chrono::nanoseconds elapsed{0};
    static_cast<void>(launch());
    static_cast<void>(stream->time(launch, 1, elapsed));
    const bool tunes = static_cast<double>(elapsed.count()) > reported * (1 + thresholds.tolerance);
    score_.bare_false_retunes += !slow && tunes;
    score_.bare_missed += slow && !tunes;
  }

  ScriptedWorker worker_;
  std::mt19937_64 random_;
  NoiseScore& score_;
};

}  // namespace

NoiseScore score_verdicts(Noise noise, std::uint64_t seeds, int records) {
  NoiseScore score;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Machine machine(noise, seed, score);
    for (int i = 0; i < records; ++i) {
      machine.verify(false);
      machine.verify(true);
    }
  }
  return score;
}

}  // namespace hone::test
