// The demo's inference loop on an empty database, with and without the learned heuristic: how fast the first seconds
// are against the honed speed on the same sentences, and how many candidates are evaluated until nothing is left to do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <hone/engine.hpp>
#include <hone/gemm.hpp>
#include <random>
#include <vector>

#include "tests/support/temporary_directory.hpp"
#include "tools/demo_server/encoder.hpp"
#include "tools/demo_server/text.hpp"

namespace {

using namespace hone;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Options {
  double first = 10;  // seconds
  double settle = 240;
  double share = 1.0;
  double tuning = 2;  // of one problem
  std::string text = "/usr/share/common-licenses";
};

struct Start {
  double first_rps = 0;
  double honed_rps = 0;  // the same sentences afterwards, at rest
  std::uint64_t evaluations = 0;
  double settled = 0;  // seconds
  Statistics statistics;
};

bool is_settled(const Engine& engine) {
  const Statistics s = engine.statistics();
  return s.queued == 0 && s.running == 0;
}

Start run(const Options& options, const std::vector<demo::Sentence>& sentences,
          const std::shared_ptr<const demo::Weights>& weights, bool with) {
  const test::TemporaryDirectory directory;
  EngineOptions settings;
  settings.database = directory.path("database");
  settings.policy.background_share = options.share;
  settings.policy.max_tuning_time = std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(options.tuning));
  Engine engine(settings);
  engine.add(host_device());
  engine.add(with ? gemm::operation() : with_heuristic(gemm::operation(), nullptr));
  demo::Encoder encoder(weights, demo::engine_products(engine));
  Start result;
  const auto begin = Clock::now();
  std::size_t served = 0;
  while (Seconds(Clock::now() - begin).count() < options.first) {
    encoder.encode(sentences[served++ % sentences.size()]);
  }
  result.first_rps = static_cast<double>(served) / Seconds(Clock::now() - begin).count();
  std::size_t more = served;
  while (!is_settled(engine) && Seconds(Clock::now() - begin).count() < options.settle) {
    encoder.encode(sentences[more++ % sentences.size()]);
  }
  result.settled = Seconds(Clock::now() - begin).count();
  result.statistics = engine.statistics();
  result.evaluations = result.statistics.trials;
  engine.pause();
  for (const demo::Sentence& sentence : sentences) encoder.encode(sentence);
  const auto again = Clock::now();
  for (std::size_t i = 0; i < served; ++i) encoder.encode(sentences[i % sentences.size()]);
  result.honed_rps = static_cast<double>(served) / Seconds(Clock::now() - again).count();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Cold starts with and without the learned heuristic");
  app.add_option("--first", options.first, "Seconds whose throughput is compared")->capture_default_str();
  app.add_option("--settle", options.settle, "Seconds to wait at most until everything is settled")
      ->capture_default_str();
  app.add_option("--share", options.share, "Share of wall time of the background")->capture_default_str();
  app.add_option("--tuning", options.tuning, "Seconds of tuning for each problem at most")->capture_default_str();
  app.add_option("--text", options.text, "A text file, or a folder of them")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const demo::Shape shape;
  auto sentences = demo::spread(demo::read_sentences(options.text, shape.longest, shape.vocabulary), 256);
  std::shuffle(sentences.begin(), sentences.end(), std::mt19937_64(1));
  const auto weights = std::make_shared<const demo::Weights>(shape, 1);
  fmt::print("{:<22}{:>12}{:>12}{:>9}{:>13}{:>11}{:>10}{:>8}\n", "", "first, /s", "honed, /s", "share", "evaluations",
             "settled", "verified", "tuned");
  std::vector<Start> starts;
  for (const bool with : {false, true}) {
    starts.push_back(run(options, sentences, weights, with));
    const Start& start = starts.back();
    fmt::print("{:<22}{:>12.1f}{:>12.1f}{:>8.0f}%{:>13}{:>9.1f} s{:>10}{:>8}\n",
               with ? "with the heuristic" : "without", start.first_rps, start.honed_rps,
               100 * start.first_rps / start.honed_rps, start.evaluations, start.settled, start.statistics.verified,
               start.statistics.tuned);
  }
  fmt::print("evaluations with / without: {:.2f}; honed speed with / without: {:.2f}\n",
             static_cast<double>(starts[1].evaluations) / static_cast<double>(starts[0].evaluations),
             starts[1].honed_rps / starts[0].honed_rps);
  return 0;
}
