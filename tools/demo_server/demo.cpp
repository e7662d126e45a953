#include "tools/demo_server/demo.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <hone/engine.hpp>
#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tools/demo_server/live_table.hpp"
#include "tools/demo_server/text.hpp"

namespace hone::demo {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Shares of the demo's time; building the weights and checking the results come on top.
constexpr double honing_share = 0.6;  // at most
constexpr double rest_share = 0.1;
constexpr double comparison_share = 0.25;
constexpr double second_start_share = 0.05;
// What the searches may take of the honing time; the rest is for what is done once for each problem.
constexpr double search_share = 0.4;

// Libraries that a program would use alone; hone's own kernels are no rival.
constexpr const char* libraries[] = {"openblas", "blis", "onednn", "libxsmm"};
constexpr std::size_t compared_sentences = 40;
constexpr std::size_t block_sentences = 4;
// A quarter of a second or so.
constexpr std::size_t honed_block = 32;

// Differences of sums in another order, relative to results whose magnitude is about one.
constexpr double accepted_difference = 1e-3;

// The folder of the database, removed at the end when nobody named one.
class DatabaseFolder {
 public:
  explicit DatabaseFolder(const std::string& named) : path_(named) {
    if (!named.empty()) return;
    std::string pattern = (fs::temp_directory_path() / "hone-demo-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(Errc::store_unavailable, "no folder can be made in " + fs::temp_directory_path().string() +
                                               " for the database; give one by --database");
    }
    path_ = temporary_ = pattern;
  }
  DatabaseFolder(const DatabaseFolder&) = delete;
  DatabaseFolder& operator=(const DatabaseFolder&) = delete;
  ~DatabaseFolder() {
    std::error_code ignored;  // a folder left in /tmp harms nobody
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_, temporary_;
};

Counts counts_of(const Engine& engine) {
  const Statistics s = engine.statistics();
  return {s.problems, s.verified, s.tuned, s.upgrades, s.busy};
}

bool settled(const Engine& engine) {
  const Statistics s = engine.statistics();
  return s.problems > 0 && s.queued == 0 && s.running == 0;
}

class Demo {
 public:
  Demo(const DemoOptions& options, const std::function<bool()>& interrupted, std::FILE* out)
      : options_(options), interrupted_(interrupted), folder_(options.database) {
    sentences_ =
        spread(read_sentences(options.text, options.shape.longest, options.shape.vocabulary), options.sentences);
    // Neighbours in a text are of similar length; shuffled, every second of serving meets the same mix.
    std::shuffle(sentences_.begin(), sentences_.end(), std::mt19937_64(options.seed));
    std::set<std::size_t> buckets;
    for (const Sentence& sentence : sentences_) buckets.insert(bucketed(sentence.size()));
    problems_ = buckets.size() * layer_problems(options.shape, 8).size();
    fmt::print(out, "{} sentences of {}, {} lengths, {} matrix products to choose for; database {}\n",
               sentences_.size(), options.text, buckets.size(), problems_, folder_.path());
    weights_ = std::make_shared<const Weights>(options.shape, options.seed);
    table_ = std::make_unique<LiveTable>(out);
    summary_.sentences = sentences_.size();
  }

  Summary run() {
    {
      const auto engine = make_engine();
      start_ = Clock::now();
      Encoder encoder(weights_, engine_products(*engine));
      serve_while_honing(*engine, encoder);
      // Whatever is still queued waits: from here on the machine belongs to the foreground.
      engine->pause();
      serve_at_rest(*engine, encoder);
      compare(encoder);
      finish_honing(*engine, encoder);
      const Statistics statistics = engine->statistics();
      summary_.problems = statistics.problems;
      summary_.verified = statistics.verified;
      summary_.tuned = statistics.tuned;
      summary_.upgrades = statistics.upgrades;
    }
    if (!stopped()) start_again();
    summary_.interrupted = stopped();
    return summary_;
  }

 private:
  std::unique_ptr<Engine> make_engine() {
    EngineOptions options;
    options.isolation_program = options_.isolation_program;
    options.database = Knob<std::string>(folder_.path(), Origin::program);
    // A demo has no night to hone in: the background may use a whole core, and the problems share its time evenly.
    // Presets, so that the HONE_ variables still have the last word.
    options.policy.background_share = Knob<double>(1.0, Origin::preset);
    const auto share = std::chrono::duration_cast<std::chrono::nanoseconds>(
        options_.seconds * (honing_share * search_share / static_cast<double>(std::max<std::size_t>(problems_, 1))));
    options.policy.max_tuning_time = Knob<std::chrono::nanoseconds>(share, Origin::preset);
    auto engine = std::make_unique<Engine>(std::move(options));
    engine->add(host_device());
    engine->add(gemm::operation());
    return engine;
  }

  bool stopped() const { return interrupted_(); }
  Duration since_start() const { return Clock::now() - start_; }

  Duration timed(Encoder& encoder, const Sentence& sentence) const {
    const auto before = Clock::now();
    encoder.encode(sentence);
    return Clock::now() - before;
  }

  // Serves sentences, the one of number `place(request)` at each request, until `done(latencies)` says so after one.
  template <class Place, class Done>
  std::vector<Duration> serve(const Engine& engine, Encoder& encoder, Place place, Done done) {
    std::vector<Duration> latencies;
    while (!stopped()) {
      latencies.push_back(timed(encoder, sentences_[place(latencies.size())]));
      table_->served(since_start(), latencies.back(), counts_of(engine));
      if (done(latencies)) break;
    }
    return latencies;
  }

  std::size_t in_order(std::size_t request) const { return request % sentences_.size(); }

  // Each block of sentences is served three times, the second time with the background paused: honing and rest meet the
  // same sentences, the same kernels and the same load of the machine.
  static constexpr std::size_t block_turns = 3;
  std::size_t block_by_block(std::size_t request) const {
    const std::size_t block = request / (block_turns * honed_block);
    return in_order(block * honed_block + request % honed_block);
  }
  static bool rests(std::size_t request) { return request / honed_block % block_turns == 1; }

  void serve_while_honing(Engine& engine, Encoder& encoder) {
    const Duration budget = options_.seconds * honing_share;
    std::vector<Duration> honing, rest;
    const auto place = [this](std::size_t request) { return block_by_block(request); };
    const auto latencies = serve(engine, encoder, place, [&](const std::vector<Duration>& served) {
      const Duration now = since_start();
      if (first_second_ == 0 && now >= Duration(1)) {
        first_second_ = served.size();
        summary_.first_second_rps = static_cast<double>(served.size()) / now.count();
      }
      (rests(served.size() - 1) ? rest : honing).push_back(served.back());
      if (served.size() % honed_block != 0) return false;
      rests(served.size()) ? engine.pause() : engine.resume();
      if (now < Duration(1) || served.size() % (block_turns * honed_block) != 0) return false;
      if (served.size() >= block_turns * sentences_.size() && settled(engine)) summary_.settled_seconds = now.count();
      return summary_.settled_seconds || now >= budget;
    });
    if (!rest.empty()) {
      summary_.p99_ms_honing = percentile(honing, 0.99).count() * 1e3;
      summary_.p99_ms_rest = percentile(rest, 0.99).count() * 1e3;
    }
    table_->say(summary_.settled_seconds ? "  the background has nothing left to do" : "  the background is paused");
  }

  // At least one whole pass over the sentences.
  void serve_at_rest(const Engine& engine, Encoder& encoder) {
    const Duration until = since_start() + options_.seconds * rest_share;
    const auto place = [this](std::size_t request) { return in_order(request); };
    const auto latencies = serve(engine, encoder, place, [&](const std::vector<Duration>& served) {
      return served.size() % sentences_.size() == 0 && since_start() >= until;
    });
    if (first_second_ == 0 || latencies.size() < sentences_.size()) return;
    rest_.assign(latencies.end() - static_cast<std::ptrdiff_t>(sentences_.size()), latencies.end());
    Duration time(0);
    for (std::size_t i = 0; i < first_second_; ++i) time += rest_[block_by_block(i)];
    summary_.last_second_rps = static_cast<double>(first_second_) / time.count();
  }

  // On a busy machine the background may need longer; a second start measures nothing only when all is known.
  void finish_honing(Engine& engine, Encoder& encoder) {
    engine.resume();
    if (stopped() || settled(engine)) return;
    table_->say("  the background goes on to its end");
    const Duration until = since_start() + options_.seconds;
    const auto place = [this](std::size_t request) { return in_order(request); };
    serve(engine, encoder, place, [&](const std::vector<Duration>&) {
      if (settled(engine)) summary_.settled_seconds = since_start().count();
      return summary_.settled_seconds || since_start() >= until;
    });
  }

  struct Rival {
    std::string name;
    Encoder* encoder;
    std::vector<std::vector<Duration>> blocks;  // times of each block of sentences, one a round
  };

  // Hone and each library serve the same blocks of sentences in turns.
  void compare(Encoder& honed) {
    if (stopped()) return;
    table_->say("  hone in turns with each library alone");
    const std::size_t count = std::min(compared_sentences, sentences_.size());
    const std::size_t blocks = (count + block_sentences - 1) / block_sentences;
    std::vector<std::unique_ptr<Encoder>> encoders;
    std::vector<Rival> rivals = {{"hone", &honed, std::vector<std::vector<Duration>>(blocks)}};
    for (const auto& solver : gemm::operation()->solvers()) {
      const std::string name(solver->id());
      if (std::find(std::begin(libraries), std::end(libraries), name) == std::end(libraries)) continue;
      encoders.push_back(std::make_unique<Encoder>(weights_, solver_products(name)));
      rivals.push_back({name, encoders.back().get(), std::vector<std::vector<Duration>>(blocks)});
    }
    check_results(honed, rivals, count);
    const auto begin = Clock::now();
    const Duration budget = options_.seconds * comparison_share;
    for (std::size_t round = 0; !stopped() && (round == 0 || Clock::now() - begin < budget); ++round) {
      for (std::size_t block = 0; block < blocks && !stopped(); ++block) {
        for (std::size_t turn = 0; turn < rivals.size(); ++turn) {
          Rival& rival = rivals[(turn + round + block) % rivals.size()];
          Duration time(0);
          for (std::size_t i = block * block_sentences; i < std::min(count, (block + 1) * block_sentences); ++i) {
            time += timed(*rival.encoder, sentences_[i]);
          }
          rival.blocks[block].push_back(time);
        }
      }
    }
    for (const Rival& rival : rivals) {
      Duration time(0);
      bool complete = true;
      for (const auto& samples : rival.blocks) {
        complete = complete && !samples.empty();
        time += median(samples);
      }
      if (!complete) continue;
      const double rate = static_cast<double>(count) / time.count();
      if (rival.encoder == &honed) {
        summary_.throughput_rps = rate;
      } else {
        summary_.library_rps[rival.name] = rate;
      }
    }
  }

  // Also makes every rival's code, which is not part of its time. OpenBLAS is the judge, or the operation's fallback
  // where OpenBLAS is missing.
  void check_results(Encoder& honed, std::vector<Rival>& rivals, std::size_t count) {
    std::unique_ptr<Encoder> judge;
    for (Rival& rival : rivals) {
      for (std::size_t i = 0; i < count && rival.encoder != &honed && !stopped(); ++i)
        rival.encoder->encode(sentences_[i]);
    }
    const bool openblas =
        std::any_of(rivals.begin(), rivals.end(), [](const Rival& r) { return r.name == "openblas"; });
    summary_.results_checked_against = openblas ? "openblas" : std::string(gemm::operation()->fallback());
    judge = std::make_unique<Encoder>(weights_, solver_products(summary_.results_checked_against));
    double largest = 0;
    for (std::size_t i = 0; i < count && !stopped(); ++i) {
      const auto result = honed.encode(sentences_[i]);
      const std::vector<float> ours(result.begin(), result.end());
      const auto expected = judge->encode(sentences_[i]);
      for (std::size_t j = 0; j < ours.size(); ++j) {
        const double difference = std::abs(static_cast<double>(ours[j]) - expected[j]);
        // A NaN is a difference beyond every bound.
        if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
      }
    }
    if (stopped()) return;
    summary_.largest_difference = largest;
    summary_.results_match = largest <= accepted_difference;
  }

  void start_again() {
    table_->begin_again("  a second start on the same database", since_start());
    const auto engine = make_engine();
    Encoder encoder(weights_, engine_products(*engine));
    const Duration begin = since_start();
    const Duration budget = std::max(options_.seconds * second_start_share, Duration(0.2));
    const auto place = [this](std::size_t request) { return in_order(request); };
    const auto latencies =
        serve(*engine, encoder, place, [&](const std::vector<Duration>&) { return since_start() - begin >= budget; });
    if (latencies.empty()) return;
    engine->drain(std::chrono::seconds(1));
    const auto rate = [&](Duration time) { return static_cast<double>(latencies.size()) / time.count(); };
    Duration honed(0);
    for (std::size_t i = 0; i < latencies.size() && !rest_.empty(); ++i) honed += rest_[in_order(i)];
    summary_.second_start = {engine->statistics().trials, rate(total(latencies)), rest_.empty() ? 0 : rate(honed)};
  }

  const DemoOptions& options_;
  const std::function<bool()>& interrupted_;
  DatabaseFolder folder_;
  std::vector<Sentence> sentences_;
  std::size_t problems_ = 0;
  std::shared_ptr<const Weights> weights_;
  std::unique_ptr<LiveTable> table_;
  Clock::time_point start_ = Clock::now();
  std::size_t first_second_ = 0;  // requests
  std::vector<Duration> rest_;    // of the last whole pass at rest
  Summary summary_;
};

}  // namespace

Summary run_demo(const DemoOptions& options, const std::function<bool()>& interrupted, std::FILE* out) {
  return Demo(options, interrupted, out).run();
}

}  // namespace hone::demo
