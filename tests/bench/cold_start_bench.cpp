// The demo's inference loop on an empty database, with and without the learned heuristic: how fast the first seconds
// are against the honed speed on the same sentences, and how many candidates are evaluated until nothing is left to do.
// Every block of sentences is served in turns with one library alone, so that the load of the machine cancels: speeds
// are multiples of that library's.
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
  std::string library = "onednn";
  std::string text = "/usr/share/common-licenses";
};

struct Start {
  double first = 0;  // speed over the library's
  double honed = 0;  // afterwards, at rest
  std::uint64_t evaluations = 0;
  double settled = 0;  // seconds
  bool all = false;    // false: there was not enough time
  Statistics statistics;
};

bool is_settled(const Engine& engine) {
  const Statistics s = engine.statistics();
  return s.queued == 0 && s.running == 0;
}

// Serves one block by the engine and by the library, and adds up both times.
class Turns {
 public:
  Turns(demo::Encoder& honed, demo::Encoder& library, const std::vector<demo::Sentence>& sentences)
      : honed_(honed), library_(library), sentences_(sentences) {}

  void next() {
    const std::size_t block = turn_ / 2 * block_sentences;
    (turn_ % 2 == 0 ? honed_time_ : library_time_) += serve(turn_ % 2 == 0 ? honed_ : library_, block);
    ++turn_;
  }
  // The library's time over the engine's.
  double speed() const { return library_time_ / honed_time_; }

 private:
  static constexpr std::size_t block_sentences = 8;

  Seconds serve(demo::Encoder& encoder, std::size_t block) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < block_sentences; ++i) encoder.encode(sentences_[(block + i) % sentences_.size()]);
    return Clock::now() - begin;
  }

  demo::Encoder& honed_;
  demo::Encoder& library_;
  const std::vector<demo::Sentence>& sentences_;
  Seconds honed_time_{0}, library_time_{0};
  std::size_t turn_ = 0;
};

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
  demo::Encoder library(weights, demo::solver_products(options.library));
  for (const demo::Sentence& sentence : sentences) library.encode(sentence);  // makes its code
  demo::Encoder encoder(weights, demo::engine_products(engine));
  Start result;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return Seconds(Clock::now() - begin).count(); };
  Turns first(encoder, library, sentences);
  while (elapsed() < options.first) first.next();
  result.first = first.speed();
  for (std::size_t i = 0; !is_settled(engine) && elapsed() < options.settle; ++i) {
    encoder.encode(sentences[i % sentences.size()]);
  }
  result.all = is_settled(engine);
  result.settled = elapsed();
  result.statistics = engine.statistics();
  result.evaluations = result.statistics.trials;
  engine.pause();
  Turns honed(encoder, library, sentences);
  const auto rest = Clock::now();
  while (Seconds(Clock::now() - rest).count() < options.first) honed.next();
  result.honed = honed.speed();
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
  app.add_option("--library", options.library, "The solver that speeds are relative to")->capture_default_str();
  app.add_option("--text", options.text, "A text file, or a folder of them")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const demo::Shape shape;
  auto sentences = demo::spread(demo::read_sentences(options.text, shape.longest, shape.vocabulary), 256);
  std::shuffle(sentences.begin(), sentences.end(), std::mt19937_64(1));
  const auto weights = std::make_shared<const demo::Weights>(shape, 1);
  fmt::print("speed as a multiple of that of {} alone, first {:.0f} seconds and afterwards\n", options.library,
             options.first);
  fmt::print("{:<20}{:>8}{:>8}{:>8}{:>13}{:>14}{:>10}{:>8}\n", "", "first", "honed", "share", "evaluations", "settled",
             "verified", "tuned");
  std::vector<Start> starts;
  for (const bool with : {false, true}) {
    starts.push_back(run(options, sentences, weights, with));
    const Start& start = starts.back();
    fmt::print("{:<20}{:>8.3f}{:>8.3f}{:>7.0f}%{:>13}{:>14}{:>10}{:>8}\n", with ? "with the heuristic" : "without",
               start.first, start.honed, 100 * start.first / start.honed, start.evaluations,
               start.all ? fmt::format("{:.1f} s", start.settled) : fmt::format("not in {:.0f} s", start.settled),
               start.statistics.verified, start.statistics.tuned);
  }
  fmt::print("evaluations with / without: {:.2f}; honed speed with / without: {:.3f}\n",
             static_cast<double>(starts[1].evaluations) / static_cast<double>(starts[0].evaluations),
             starts[1].honed / starts[0].honed);
  return 0;
}
