// What measuring in a process of its own costs: the same candidates, tuned in turns in this process and in another one.
//
//   isolation_bench [--rounds 11] [--candidates 100] [--crashes 100]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <future>
#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <hone/isolation.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/faulty_operation.hpp"
#include "tests/support/recording_journal.hpp"
#include "workers/stream_worker.hpp"

namespace {

using namespace hone;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr gemm::Problem problem{.m = 64, .n = 64, .k = 64};
constexpr std::size_t crashing_points = 4096;

std::unique_ptr<workers::StreamWorker> make_worker(bool isolated) {
  workers::WorkerOptions options;
  options.background_share = 1;
  options.look_ahead = 0;
  if (isolated) options.isolation = workers::IsolationOptions{.program = {"/proc/self/exe"}};
  return std::make_unique<workers::StreamWorker>(host_device(), system_clock(),
                                                 std::make_shared<test::RecordingJournal>(), options);
}

workers::TuneJob tuning(Problem of, std::shared_ptr<const Operation> operation, Candidate incumbent,
                        std::vector<Candidate> first) {
  workers::TuneJob job{.subject = {std::move(of), std::move(operation), {}}, .incumbent = std::move(incumbent)};
  job.first = std::move(first);
  job.search_parameters = false;
  return job;
}

workers::TuneJob gemm_tuning(std::size_t count) {
  const auto operation = gemm::operation();
  const auto device = host_device();
  for (const auto& solver : operation->solvers()) {
    if (solver->id() != "blocked") continue;
    std::vector<Candidate> first;
    solver->search_space(Problem(problem), *device).for_each([&](const Configuration& configuration) {
      first.push_back({"blocked", solver->version(), configuration.text()});
      return first.size() < count;
    });
    const Candidate incumbent = first.front();
    return tuning(Problem(problem), operation, incumbent, std::move(first));
  }
  throw hone::Error(Errc::not_applicable, "hone's own matrix product is missing");
}

// Wall time of a trial.
Milliseconds run(workers::StreamWorker& worker, const workers::TuneJob& job) {
  std::promise<workers::Outcome> done;
  const auto start = std::chrono::steady_clock::now();
  worker.submit(job, [&](workers::Outcome outcome) { done.set_value(std::move(outcome)); });
  const workers::Outcome outcome = done.get_future().get();
  const Milliseconds taken = std::chrono::steady_clock::now() - start;
  if (outcome.error) throw hone::Error(Errc::no_isolation, outcome.cause);
  return taken / static_cast<double>(outcome.trials.size());
}

Milliseconds median(std::vector<Milliseconds> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int bench(std::size_t rounds, std::size_t candidates, std::size_t crashes) {
  const auto here = make_worker(false);
  const auto isolated = make_worker(true);
  const workers::TuneJob job = gemm_tuning(candidates);
  run(*here, job);
  run(*isolated, job);  // starts the process
  std::vector<Milliseconds> here_times, isolated_times, differences;
  for (std::size_t round = 0; round < rounds; ++round) {
    here_times.push_back(run(*here, job));
    isolated_times.push_back(run(*isolated, job));
    differences.push_back(isolated_times.back() - here_times.back());
  }
  fmt::print(
      "a trial of {}: {:.3f} ms in this process, {:.3f} ms in its own, {:+.3f} ms (medians of {} rounds of {})\n",
      Problem(problem).text(), median(here_times).count(), median(isolated_times).count(), median(differences).count(),
      rounds, job.first.size());

  std::vector<Candidate> crashing;
  for (std::size_t point = 1; point <= crashes; ++point) {
    crashing.push_back({"crashing", 1, fmt::format("point={}", point)});
  }
  const auto operation = test::faulty_operation({}, crashing_points);
  fmt::print("a trial that crashes: {:.2f} ms, with the next process's start ({} in a row)\n",
             run(*isolated, tuning(Problem(test::Increment{}), operation, {"good", 1, ""}, crashing)).count(), crashes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  serve_isolated(argc, argv, [] {
    return Isolated{{host_device()}, {gemm::operation(), test::every_fault(crashing_points)}};
  });
  CLI::App app("What measuring in a process of its own costs");
  std::size_t rounds = 11, candidates = 100, crashes = 100;
  app.add_option("--rounds", rounds, "Rounds, each in both processes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--candidates", candidates, "Candidates of a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--crashes", crashes, "Crashing candidates")
      ->check(CLI::Range(std::size_t{1}, crashing_points - 1))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return bench(rounds, candidates, crashes);
  } catch (const std::exception& error) {
    fmt::print(stderr, "isolation_bench: {}\n", error.what());
    return 2;
  }
}
