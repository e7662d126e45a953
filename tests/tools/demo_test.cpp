#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <hone/error.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/temporary_directory.hpp"
#include "tools/demo_server/demo.hpp"
#include "tools/demo_server/live_table.hpp"
#include "tools/demo_server/text.hpp"
#include "tools/demo_server/vector_math.hpp"
#include "tools/interruption.hpp"

namespace hone::demo {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Folder {
 public:
  fs::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }
  fs::path path() const { return directory_.path(); }

 private:
  test::TemporaryDirectory directory_;
};

std::string refusal_of(const fs::path& path) {
  try {
    read_sentences(path, 128, 4096);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_option);
    return error.what();
  }
  return "accepted";
}

TEST(Text, SplitsAtSentenceEndsAndEmptyLines) {
  const auto sentences = split_sentences("One two. Three!\n\nFour\nfive\n\nsix 2.0 seven", 128, 1 << 30);
  ASSERT_EQ(sentences.size(), 4U);
  EXPECT_EQ(sentences[0].size(), 3U);
  EXPECT_EQ(sentences[1].size(), 2U);
  EXPECT_EQ(sentences[2].size(), 2U);
  EXPECT_EQ(sentences[3].size(), 5U) << "a dot inside a number ends nothing";
}

TEST(Text, GivesTheSameWordTheSameNumber) {
  const auto sentences = split_sentences("word Word other", 128, 1 << 30);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0][0], sentences[0][1]);
  EXPECT_NE(sentences[0][0], sentences[0][2]);
  const auto small = split_sentences("a b c d e f", 128, 3);
  for (const std::uint32_t token : small[0]) EXPECT_LT(token, 3U);
}

TEST(Text, CutsLongSentences) {
  const auto sentences = split_sentences("a b c d e f g", 3, 100);
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[2].size(), 1U);
}

TEST(Text, ReadsFilesAndFolders) {
  const Folder folder;
  const fs::path one = folder.write("1.txt", "First one.");
  folder.write("2.txt", "Second. Third.");
  EXPECT_EQ(read_sentences(one, 128, 100).size(), 1U);
  EXPECT_EQ(read_sentences(folder.path(), 128, 100).size(), 3U);
}

TEST(Text, NamesThePathAndTheRemedyOfBadInput) {
  const Folder folder;
  EXPECT_THAT(refusal_of(folder.path() / "missing"), AllOf(HasSubstr("missing"), HasSubstr("no such file")));
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("no sentence"));
  EXPECT_THAT(refusal_of(folder.write("empty", "")), HasSubstr("no sentence"));
  EXPECT_THAT(refusal_of(folder.write("binary", std::string("a\0b", 3))), HasSubstr("not a text"));
  const fs::path locked = folder.write("locked", "text");
  fs::permissions(locked, fs::perms::none);
  if (geteuid() == 0) return;  // root reads everything
  EXPECT_THAT(refusal_of(locked), HasSubstr("cannot be read"));
}

TEST(Text, SpreadsAChoiceEvenly) {
  std::vector<Sentence> sentences;
  for (std::uint32_t i = 0; i < 100; ++i) sentences.push_back({i});
  const auto chosen = spread(sentences, 4);
  ASSERT_EQ(chosen.size(), 4U);
  EXPECT_EQ(chosen[3][0], 75U);
  EXPECT_EQ(spread(sentences, 1000).size(), 100U);
}

TEST(VectorMath, SoftmaxIgnoresWhatIsMasked) {
  std::vector<float> rows = {1, 2, 3, 1e30F, -5, 0, -5, NAN};
  masked_softmax(rows, 4, 3);
  const double total = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_NEAR(rows[0], std::exp(-2.0) / total, 1e-6);
  EXPECT_NEAR(rows[2], 1 / total, 1e-6);
  EXPECT_EQ(rows[3], 0);
  EXPECT_NEAR(rows[5], 1 / (1 + 2 * std::exp(-5.0)), 1e-6);
  EXPECT_EQ(rows[7], 0);
  std::vector<float> far = {0, -1000};
  masked_softmax(far, 2, 2);
  EXPECT_NEAR(far[0], 1, 1e-6);
  EXPECT_NEAR(far[1], 0, 1e-30);
}

TEST(VectorMath, NormalisesEachRow) {
  std::vector<float> from;
  for (int i = 0; i < 40; ++i) from.push_back(static_cast<float>((i * 7) % 11));
  const std::vector<float> gain(20, 2.0F), shift(20, 1.0F);
  std::vector<float> to(40);
  normalise(from, gain, shift, to);
  for (const int row : {0, 20}) {
    double mean = 0, square = 0;
    for (int i = row; i < row + 20; ++i) mean += to[static_cast<std::size_t>(i)] / 20;
    for (int i = row; i < row + 20; ++i) square += std::pow(to[static_cast<std::size_t>(i)] - mean, 2) / 20;
    EXPECT_NEAR(mean, 1, 1e-5);
    EXPECT_NEAR(square, 4, 1e-3);
  }
}

Shape small_shape() {
  return {.layers = 2, .hidden = 64, .heads = 2, .feed_forward = 96, .vocabulary = 100, .longest = 40};
}

std::vector<float> encode(const std::shared_ptr<const Weights>& weights, std::unique_ptr<MatrixProduct> products,
                          const Sentence& sentence, std::size_t least_tokens = 0) {
  Encoder encoder(weights, std::move(products));
  const auto result = encoder.encode(sentence, least_tokens);
  return {result.begin(), result.end()};
}

::testing::Matcher<std::vector<float>> near(const std::vector<float>& expected, float bound) {
  return ::testing::Pointwise(::testing::FloatNear(bound), expected);
}

TEST(Encoder, GivesTheSameWithEverySolverAndWithTheEngine) {
  const auto weights = std::make_shared<const Weights>(small_shape(), 3);
  const Sentence sentence = {1, 5, 99, 7, 7, 42, 0, 3, 8, 13, 21};
  const std::vector<float> expected = encode(weights, solver_products("direct"), sentence);
  double magnitude = 0;
  for (const float value : expected) magnitude += std::abs(value);
  EXPECT_GT(magnitude, 1) << "a result of zeros would agree with everything";
  for (const auto& solver : gemm::operation()->solvers()) {
    if (solver->id().ends_with("_padded")) continue;
    if (solver->applicable(Problem(gemm::Problem{.m = 8, .n = 8, .k = 8}), *host_device())) continue;  // of GPUs
    EXPECT_THAT(encode(weights, solver_products(std::string(solver->id())), sentence), near(expected, 1e-4F))
        << solver->id();
  }
  EngineOptions options;
  options.policy = Policy::frozen();
  Engine engine(std::move(options));
  engine.add(host_device());
  engine.add(gemm::operation());
  EXPECT_THAT(encode(weights, engine_products(engine), sentence), near(expected, 1e-4F));
}

TEST(Encoder, DoesNotDependOnThePaddingOfASentence) {
  const auto weights = std::make_shared<const Weights>(small_shape(), 3);
  for (const std::size_t length : {1U, 7U, 8U, 9U, 20U}) {
    Sentence sentence;
    for (std::size_t i = 0; i < length; ++i) sentence.push_back(static_cast<std::uint32_t>(i * 13 % 100));
    const std::vector<float> expected = encode(weights, solver_products("direct"), sentence);
    for (const std::size_t tokens : {24U, 40U}) {
      EXPECT_THAT(encode(weights, solver_products("direct"), sentence, tokens), near(expected, 1e-5F)) << length;
    }
  }
}

// An encoder that ignored its input would pass the tests above.
TEST(Encoder, DependsOnTheTokensAndTheirOrder) {
  const auto weights = std::make_shared<const Weights>(small_shape(), 3);
  const auto one = encode(weights, solver_products("direct"), {1, 2, 3});
  EXPECT_THAT(encode(weights, solver_products("direct"), {1, 3, 2}), ::testing::Not(near(one, 1e-4F)));
  EXPECT_THAT(encode(weights, solver_products("direct"), {1, 2, 4}), ::testing::Not(near(one, 1e-4F)));
  EXPECT_THAT(encode(std::make_shared<const Weights>(small_shape(), 4), solver_products("direct"), {1, 2, 3}),
              ::testing::Not(near(one, 1e-4F)));
}

TEST(Encoder, RefusesSentencesThatDoNotFit) {
  Encoder encoder(std::make_shared<const Weights>(small_shape(), 3), solver_products("direct"));
  EXPECT_THROW(encoder.encode({}), Error);
  EXPECT_THROW(encoder.encode(Sentence(41, 1)), Error);
  EXPECT_NO_THROW(encoder.encode(Sentence(40, 1)));
}

TEST(MatrixProduct, RefusesAnUnknownSolver) { EXPECT_THROW(solver_products("mkl"), Error); }

TEST(Latencies, TakeThePercentileFromTheValues) {
  std::vector<Duration> values;
  for (int i = 100; i >= 1; --i) values.emplace_back(i);
  EXPECT_EQ(percentile(values, 0.99), Duration(99));
  EXPECT_EQ(percentile(values, 1.0), Duration(100));
  EXPECT_EQ(median(values), Duration(50));
  EXPECT_EQ(percentile({}, 0.5), Duration(0));
}

class Output {
 public:
  Output() : file_(std::tmpfile()) {}
  ~Output() { std::fclose(file_); }
  std::FILE* file() { return file_; }
  std::string text() {
    std::rewind(file_);
    std::string content;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) content += static_cast<char>(c);
    return content;
  }

 private:
  std::FILE* file_;
};

TEST(LiveTable, PrintsPlainLinesWhereThereIsNoTerminal) {
  Output output;
  LiveTable table(output.file());
  for (int i = 1; i <= 8; ++i) {
    table.served(Duration(0.25 * i), Duration(0.25), {.problems = 6, .busy = Duration(0.1 * i)});
  }
  const std::string text = output.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_THAT(text, AllOf(HasSubstr("4.0"), HasSubstr("250.00"), HasSubstr("40%")));
}

DemoOptions small_demo(const fs::path& text) {
  DemoOptions options;
  options.text = text.string();
  options.seconds = Duration(2);
  options.sentences = 6;
  options.shape = small_shape();
  return options;
}

TEST(Demo, FillsTheSummaryAndLeavesNoDatabaseBehind) {
  const Folder folder;
  DemoOptions options =
      small_demo(folder.write("text", "One two three. Four five six seven. Eight! Nine ten, eleven."));
  Output output;
  const Summary summary = run_demo(
      options, [] { return false; }, output.file());
  const auto json = to_json(summary);
  for (const char* key : {"throughput_rps", "library_rps", "p99_ms_rest", "p99_ms_honing", "problems", "verified",
                          "upgrades", "second_start", "results_match", "first_second_rps", "last_second_rps"}) {
    EXPECT_TRUE(json.contains(key)) << key;
    EXPECT_FALSE(json[key].is_null()) << key;
  }
  EXPECT_GT(json["throughput_rps"].get<double>(), 0);
  EXPECT_EQ(json["problems"], 6);
  EXPECT_EQ(json["results_match"], true);
  EXPECT_FALSE(json["interrupted"].get<bool>());
  EXPECT_GT(json["second_start"]["throughput_rps"].get<double>(), 0);
  const std::string text = output.text();
  const auto begin = text.find("database ") + 9;
  EXPECT_FALSE(fs::exists(text.substr(begin, text.find('\n') - begin)));
}

TEST(Demo, EndsWithASummaryWhenItIsInterrupted) {
  const Folder folder;
  DemoOptions options = small_demo(folder.write("text", "One two three. Four five six seven."));
  options.seconds = Duration(3600);
  for (const int requests : {0, 1, 10}) {
    Output output;
    int asked = 0;
    const Summary summary = run_demo(
        options, [&] { return asked++ >= requests; }, output.file());
    EXPECT_TRUE(summary.interrupted);
    EXPECT_FALSE(summary.second_start);
    EXPECT_TRUE(to_json(summary)["second_start"].is_null());
    Output printed;
    print(summary, printed.file());
    EXPECT_THAT(printed.text(), AllOf(HasSubstr("interrupted"), HasSubstr("not measured")));
  }
}

TEST(Interruption, NotesTheSignalAndRestoresWhatWasThere) {
  {
    const tools::Interruption interruption;
    EXPECT_FALSE(interruption.requested());
    std::raise(SIGINT);
    EXPECT_TRUE(interruption.requested());
  }
  struct sigaction now {};
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace hone::demo
