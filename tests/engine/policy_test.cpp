#include <hone/policy.hpp>

#include <functional>

#include <gtest/gtest.h>

#include <hone/engine.hpp>
#include <hone/error.hpp>

namespace hone {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_option);
    return error.what();
  }
  return "no error";
}

TEST(Presets, HaveTheDocumentedValues) {
  const Policy serving = Policy::serving();
  EXPECT_EQ(serving.find_mode, FindMode::trust_verify);
  EXPECT_EQ(serving.enforce, Enforce::none);
  EXPECT_EQ(serving.tolerance, 0.15);
  EXPECT_EQ(serving.tie_margin, 0.02);
  EXPECT_EQ(serving.verify_candidates, 4u);
  EXPECT_TRUE(serving.tune_parameters);
  EXPECT_EQ(serving.patience, 30u);
  EXPECT_EQ(serving.max_tuning_time.value(), seconds(10));
  EXPECT_EQ(serving.max_evaluations, 200u);
  EXPECT_EQ(serving.background_share, 0.10);
  EXPECT_EQ(serving.max_buffer_bytes, std::uint64_t{1} << 30);
  EXPECT_FALSE(serving.revalidate_user_records);

  const Policy benchmark = Policy::benchmark();
  EXPECT_EQ(benchmark.tolerance, 0.05);
  EXPECT_EQ(benchmark.tie_margin, 0.01);
  EXPECT_EQ(benchmark.verify_candidates, 8u);
  EXPECT_EQ(benchmark.patience, 200u);
  EXPECT_EQ(benchmark.max_tuning_time.value(), minutes(10));
  EXPECT_EQ(benchmark.max_evaluations, unlimited);
  EXPECT_EQ(benchmark.background_share, 1.0);
  EXPECT_EQ(benchmark.max_buffer_bytes, std::uint64_t{4} << 30);
  EXPECT_TRUE(benchmark.revalidate_user_records);

  EXPECT_EQ(Policy::frozen().find_mode, FindMode::fast);
}

TEST(Precedence, IsPresetThenVariableThenProgram) {
  EngineOptions options;
  const Variables variables = {{"HONE_TOLERANCE", "0.3"},
                               {"HONE_PATIENCE", "7"},
                               {"HONE_DATABASE", "/from/variable"},
                               {"HONE_LOG_LEVEL", "debug"}};
  options.policy.tolerance = 0.2;
  const EngineOptions resolved = resolve(options, variables);
  EXPECT_EQ(resolved.policy.tolerance, 0.2);
  EXPECT_EQ(resolved.policy.tolerance.origin(), Origin::program);
  EXPECT_EQ(resolved.policy.patience, 7u);
  EXPECT_EQ(resolved.policy.patience.origin(), Origin::environment);
  EXPECT_EQ(resolved.policy.tie_margin.origin(), Origin::preset);
  EXPECT_EQ(resolved.database.value(), "/from/variable");
  EXPECT_EQ(resolved.log_level, LogLevel::debug);

  options.database = "/from/program";
  EXPECT_EQ(resolve(options, variables).database.value(), "/from/program");
}

TEST(Variables, AreReadInEveryFormat) {
  const Policy policy = resolve(Policy::serving(), {{"HONE_FIND_MODE", "dynamic_hybrid"},
                                                    {"HONE_ENFORCE", "db_update"},
                                                    {"HONE_TUNE_PARAMETERS", "false"},
                                                    {"HONE_MAX_TUNING_TIME", "250ms"},
                                                    {"HONE_MAX_EVALUATIONS", "unlimited"},
                                                    {"HONE_BACKGROUND_SHARE", "0.5"},
                                                    {"HONE_MAX_BUFFER_BYTES", "64MiB"},
                                                    {"HONE_REVALIDATE", "1"}});
  EXPECT_EQ(policy.find_mode, FindMode::dynamic_hybrid);
  EXPECT_EQ(policy.enforce, Enforce::db_update);
  EXPECT_FALSE(policy.tune_parameters);
  EXPECT_EQ(policy.max_tuning_time.value(), std::chrono::milliseconds(250));
  EXPECT_EQ(policy.max_evaluations, unlimited);
  EXPECT_EQ(policy.max_buffer_bytes, 64u << 20);
  EXPECT_TRUE(policy.revalidate_user_records);
  EXPECT_EQ(resolve(Policy::serving(), {{"HONE_MAX_TUNING_TIME", "2min"}}).max_tuning_time.value(), minutes(2));
}

TEST(Variables, ThatAreImpossibleNameThemselvesAndWhatTheyTake) {
  const auto message = [](const char* name, const char* value) {
    return message_of([&] { resolve(Policy::serving(), {{name, value}}); });
  };
  EXPECT_NE(message("HONE_FIND_MODE", "quick").find("HONE_FIND_MODE=quick: it takes one of fast, normal, hybrid"),
            std::string::npos);
  EXPECT_NE(message("HONE_TOLERANCE", "-1").find("a number from 0 to 10"), std::string::npos);
  EXPECT_NE(message("HONE_TOLERANCE", "nan").find("HONE_TOLERANCE=nan"), std::string::npos);
  EXPECT_NE(message("HONE_TOLERANCE", "0.1x").find("HONE_TOLERANCE=0.1x"), std::string::npos);
  EXPECT_NE(message("HONE_BACKGROUND_SHARE", "0").find("not 0"), std::string::npos);
  EXPECT_NE(message("HONE_PATIENCE", "0").find("at least 1"), std::string::npos);
  EXPECT_NE(message("HONE_MAX_EVALUATIONS", "99999999999999999999").find("HONE_MAX_EVALUATIONS"), std::string::npos);
  EXPECT_NE(message("HONE_MAX_TUNING_TIME", "10").find("a time such as 10s"), std::string::npos);
  EXPECT_NE(message("HONE_MAX_TUNING_TIME", "-1s").find("more than zero"), std::string::npos);
  EXPECT_NE(message("HONE_MAX_BUFFER_BYTES", "99999999999GiB").find("HONE_MAX_BUFFER_BYTES"), std::string::npos);
  EXPECT_NE(message("HONE_TUNE_PARAMETERS", "yes").find("true or false"), std::string::npos);
  EXPECT_NE(message("HONE_LOG_LEVEL", "loud").find("one of trace, debug"), std::string::npos);
  EXPECT_NE(message("HONE_TOLERENCE", "0.1").find("unknown variable HONE_TOLERENCE; hone knows HONE_FIND_MODE"),
            std::string::npos);
}

// A wrong variable is an error even where the program's own value would win: somebody meant something by it.
TEST(Variables, AreCheckedAlsoWhereTheProgramDecides) {
  Policy policy = Policy::serving();
  policy.tolerance = 0.1;
  EXPECT_NE(message_of([&] { resolve(policy, {{"HONE_TOLERANCE", "x"}}); }), "no error");
}

TEST(Knobs, OfTheProgramAreChecked) {
  Policy policy = Policy::serving();
  policy.background_share = 1.5;
  EXPECT_NE(message_of([&] { resolve(policy, {}); }).find("background_share = 1.5: it takes"), std::string::npos);
  policy = Policy::serving();
  policy.max_tuning_time = seconds(-1);
  EXPECT_NE(message_of([&] { resolve(policy, {}); }).find("max_tuning_time"), std::string::npos);
  policy = Policy::serving();
  policy.find_mode = static_cast<FindMode>(42);
  EXPECT_NE(message_of([&] { resolve(policy, {}); }).find("find_mode"), std::string::npos);
}

TEST(Knobs, ThatContradictEachOtherAreAnError) {
  Policy policy = Policy::serving();
  policy.enforce = Enforce::search;
  policy.tune_parameters = false;
  EXPECT_NE(message_of([&] { resolve(policy, {}); }).find("tune_parameters"), std::string::npos);
}

TEST(Description, ListsEveryKnobWithValueAndOrigin) {
  const auto knobs = describe(resolve(EngineOptions{.database = "/somewhere"}, {{"HONE_PATIENCE", "9"}}));
  ASSERT_EQ(knobs.size(), 18u);
  EXPECT_EQ(knobs[0].name, "find_mode");
  EXPECT_EQ(knobs[0].value, "trust_verify");
  EXPECT_EQ(knobs[6].variable, "HONE_PATIENCE");
  EXPECT_EQ(knobs[6].value, "9");
  EXPECT_EQ(knobs[6].origin, Origin::environment);
  EXPECT_EQ(knobs[7].value, "10s");
  EXPECT_EQ(knobs[10].value, "1GiB");
  EXPECT_EQ(knobs[15].variable, "HONE_ISOLATE");
  EXPECT_EQ(knobs[15].value, "false");
  EXPECT_EQ(knobs[16].name, "database");
  EXPECT_EQ(knobs[16].value, "/somewhere");
  EXPECT_EQ(knobs[16].origin, Origin::program);
  for (const KnobDescription& knob : knobs) EXPECT_FALSE(knob.accepts.empty() || knob.meaning.empty());
}

TEST(Isolation, NeedsAProgram) {
  EngineOptions options;
  const auto message = message_of([&] { resolve(options, {{"HONE_ISOLATE", "true"}}); });
  EXPECT_NE(message.find("isolation_program names no program"), std::string::npos) << message;
  options.policy.isolate = true;
  EXPECT_NE(message_of([&] { resolve(options, {}); }), "no error");
  options.isolation_program = {"/proc/self/exe"};
  EXPECT_TRUE(resolve(options, {}).policy.isolate);
  // A policy alone says nothing about programs.
  EXPECT_TRUE(resolve(Policy::serving(), {{"HONE_ISOLATE", "1"}}).isolate);
}

// What is printed can be given back.
TEST(Description, RoundTripsThroughVariables) {
  EngineOptions options;
  options.policy = Policy::benchmark();
  options.policy.max_tuning_time = nanoseconds::max();
  Variables variables;
  for (const KnobDescription& knob : describe(options)) variables.emplace_back(knob.variable, knob.value);
  const EngineOptions resolved = resolve(EngineOptions{}, variables);
  const auto before = describe(options);
  const auto after = describe(resolved);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].value, after[i].value) << before[i].name;
}

}  // namespace
}  // namespace hone
