// Verdicts on the host under real load: records taken at rest are healthy, and are verified while a competing process
// runs on every core. Prints false retunes, and those of the bare rule; --json for machines.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <future>
#include <hone/clock.hpp>
#include <hone/gemm.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "engine/verdict.hpp"
#include "workers/operands.hpp"
#include "workers/stream_worker.hpp"
#include "workers/validation.hpp"

namespace {

using namespace std::chrono_literals;
using hone::Verdict;

constexpr hone::engine::Thresholds thresholds{.tolerance = 0.15, .tie_margin = 0.02};

// One process a core that computes over more memory than its core's caches hold, from start() to the end of the
// program.
class Competitors {
 public:
  // Forks; to be made before any thread.
  Competitors() {
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      const pid_t child = fork();
      if (child == 0) compete();
      if (child > 0) children_.push_back(child);
    }
  }
  ~Competitors() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Competitors(const Competitors&) = delete;
  Competitors& operator=(const Competitors&) = delete;

  void start() const {
    for (const pid_t child : children_) kill(child, SIGCONT);
  }
  std::size_t size() const { return children_.size(); }

 private:
  [[noreturn]] static void compete() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    raise(SIGSTOP);
    std::vector<double> values(1 << 21, 1.0);
    while (true) {
      for (double& value : values) value = value * 0.999 + 0.001;
    }
  }
  std::vector<pid_t> children_;
};

class SilentJournal final : public hone::workers::Journal {
 public:
  void begin_attempt(const hone::Problem&, const hone::Candidate&) override {}
  void end_attempt(const hone::Problem&, const hone::Candidate&) override {}
};

struct Record {
  hone::Problem problem;
  std::vector<hone::workers::Trial> trials;  // fastest first
};

struct Score {
  int records = 0;
  int false_retunes = 0;
  int undecided = 0;
  int upgrades = 0;
  int jobs = 0;
  int bare_false_retunes = 0;
  double mean_slowdown = 0;
  double mean_samples = 0;
};

class Bench {
 public:
  Bench() {
    hone::workers::WorkerOptions options;
    options.background_share = 1;
    worker_.emplace(device_, hone::system_clock(), std::make_shared<SilentJournal>(), options);
  }

  // What a tuning without search finds at rest; nothing when no solver works.
  std::optional<Record> take(const hone::gemm::Problem& problem) {
    hone::workers::TuneJob job{.subject = subject(hone::Problem(problem)), .search_parameters = false};
    job.incumbent = hone::workers::default_candidate(*hone::workers::find_solver(*operation_, operation_->fallback()),
                                                     job.subject.problem, *device_);
    hone::workers::Outcome outcome = run(job);
    std::erase_if(outcome.trials, [](const auto& trial) { return !trial.timing.known(); });
    std::sort(outcome.trials.begin(), outcome.trials.end(),
              [](const auto& a, const auto& b) { return a.timing.median < b.timing.median; });
    if (outcome.trials.empty()) return {};
    return Record{job.subject.problem, std::move(outcome.trials)};
  }

  void verify(const Record& record, Score& score) {
    hone::workers::VerifyJob job{.subject = subject(record.problem), .claimed = record.trials[0].candidate};
    job.reported = record.trials[0].timing.median;
    job.tolerance = thresholds.tolerance;
    job.tie_margin = thresholds.tie_margin;
    job.wall_time = 2s;
    for (std::size_t i = 1; i < std::min<std::size_t>(4, record.trials.size()); ++i) {
      job.rivals.push_back(record.trials[i].candidate);
    }
    hone::engine::Conclusion conclusion;
    constexpr int most_attempts = 3;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      const hone::workers::Outcome outcome = run(job);
      conclusion = verdict(gather(job, outcome, hone::engine::Source::same_device, {}), thresholds);
      ++score.jobs;
      score.mean_slowdown += outcome.load.slowdown;
      score.mean_samples += outcome.trials.at(0).timing.samples;
      if (conclusion.verdict != Verdict::inconclusive) break;
    }
    ++score.records;
    score.false_retunes += conclusion.verdict == Verdict::tune;
    score.undecided += conclusion.verdict == Verdict::inconclusive;
    score.upgrades += conclusion.upgrade.has_value();
    score.bare_false_retunes += bare_ratio(record) > 1 + thresholds.tolerance;
  }

 private:
  hone::workers::Subject subject(const hone::Problem& problem) const { return {problem, operation_, {}}; }

  hone::workers::Outcome run(hone::workers::Job job) {
    std::promise<hone::workers::Outcome> done;
    worker_->submit(std::move(job), [&](hone::workers::Outcome outcome) { done.set_value(std::move(outcome)); });
    return done.get_future().get();
  }

  // One warm-up and one run by a plain clock, on a background thread as well.
  double bare_ratio(const Record& record) {
    double ratio = 0;
    std::thread([&] {
      const auto stream = device_->make_stream(hone::StreamPriority::background);
      const hone::workers::Operands operands(*operation_, record.problem, *device_, 1 << 30, 1);
      std::string reason;
      const auto valid =
          hone::workers::validate(*operation_, record.problem, *device_, record.trials[0].candidate, reason);
      const auto invoker = valid.value().solver->prepare(record.problem, valid->configuration, *device_);
      const auto launch = [&] { return invoker->run(*stream, operands.arguments()); };
      std::chrono::nanoseconds elapsed{0};
      static_cast<void>(stream->time(launch, 1, elapsed));
      const auto begin = std::chrono::steady_clock::now();
      static_cast<void>(launch());
      const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
      ratio = taken / record.trials[0].timing.median;
    }).join();
    return ratio;
  }

  std::shared_ptr<hone::Device> device_ = hone::host_device();
  std::shared_ptr<const hone::Operation> operation_ = hone::gemm::operation();
  std::optional<hone::workers::StreamWorker> worker_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Verdicts on the host under real load");
  int records = 200;
  bool json = false;
  app.add_option("--records", records, "Healthy records")->check(CLI::Range(1, 100000));
  app.add_flag("--json", json, "Print JSON");
  CLI11_PARSE(app, argc, argv);

  const Competitors competitors;
  Bench bench;
  std::mt19937_64 random(1);
  const auto size = [&](std::initializer_list<std::int64_t> sizes) {
    return sizes.begin()[std::uniform_int_distribution<std::size_t>(0, sizes.size() - 1)(random)];
  };
  std::vector<Record> taken;
  while (static_cast<int>(taken.size()) < records) {
    const hone::gemm::Problem problem{.m = size({1, 4, 16, 33, 64, 128}) + static_cast<std::int64_t>(taken.size() % 7),
                                      .n = size({64, 128, 384, 512, 768}),
                                      .k = size({32, 64, 128, 384, 512})};
    if (auto record = bench.take(problem)) taken.push_back(*std::move(record));
  }
  competitors.start();
  Score score;
  for (const Record& record : taken) bench.verify(record, score);

  const double jobs = score.jobs;
  const double false_retunes = static_cast<double>(score.false_retunes) / score.records;
  const double bare = static_cast<double>(score.bare_false_retunes) / score.records;
  if (json) {
    const nlohmann::ordered_json result = {{"records", score.records},
                                           {"competitors", competitors.size()},
                                           {"false_retunes", false_retunes},
                                           {"undecided", static_cast<double>(score.undecided) / score.records},
                                           {"upgrades", score.upgrades},
                                           {"mean_jobs", jobs / score.records},
                                           {"mean_samples", score.mean_samples / jobs},
                                           {"mean_slowdown", score.mean_slowdown / jobs},
                                           {"naive", {{"false_retunes", bare}}}};
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print(
        "{} healthy records beside {} competing processes, mean slowdown {:.2f}\n"
        "hone:  false retunes {:.1f} %, undecided {} after 3 attempts, re-ranked {}, {:.1f} samples a job, {:.2f} "
        "jobs\n"
        "naive: false retunes {:.1f} %\n",
        score.records, competitors.size(), score.mean_slowdown / jobs, 100 * false_retunes, score.undecided,
        score.upgrades, score.mean_samples / jobs, jobs / score.records, 100 * bare);
  }
}
