// The matrix product on a GPU from the first question to the next start, over the emulated runtime: engine, workers,
// compiler, kernels and database are the real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "kernels/element.hpp"
#include "kernels/hip/kernel_device.hpp"
#include "storage/maintenance.hpp"
#include "tests/kernels/hip/emulated_gemm.hpp"
#include "tests/support/engine_fixture.hpp"

namespace hone::gemm::hip {
namespace emulated_half {
#undef ELEMENT
#define ELEMENT _Float16
#include "kernels/gemm/hip/direct.hip.hpp"
}  // namespace emulated_half
namespace {

using namespace std::chrono_literals;
using test::EventLog;
using test::HipFault;
using ::testing::HasSubstr;

class GemmGpuTest : public ::testing::Test {
 protected:
  GemmGpuTest() {
    engine::set_log_level(LogLevel::off);
    hip_.reset();
    add_kernels(hip_);
    EmulatedCompiler::compilations = 0;
    EmulatedCompiler::spilled_registers = usual_spilled_registers;
  }
  ~GemmGpuTest() override {
    device_.reset();
    EXPECT_THAT(hip_.complaints(), ::testing::IsEmpty());
    hip_.reset();
  }

  std::unique_ptr<Engine> start(std::shared_future<void> gate = {}, Policy policy = Policy::offline()) {
    EngineOptions options;
    options.isolation_program = isolation_program_;
    options.database = directory_.path("database");
    options.log_level = LogLevel::off;
    policy.max_evaluations = 60;
    policy.patience = 60;
    options.policy = policy;
    auto engine = std::make_unique<Engine>(std::move(options));
    device_ = hone::hip::make_device(0, {}, std::make_unique<EmulatedCompiler>(std::move(gate)));
    engine->add(device_);
    engine->add(operation());
    return engine;
  }

  // Runs the solution on a stream of the caller's and compares with the reference.
  void expect_right(const Solution& solution) {
    const auto operands = operation()->operands(hone::Problem(problem));
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<std::vector<float>> values;
    std::vector<Buffer> buffers;
    for (const Operand& operand : operands) {
      values.emplace_back(operand.count);
      for (float& value : values.back()) value = uniform(random);
      buffers.push_back(device_->allocate(values.back().size() * sizeof(float)));
      device_->copy_to_device(buffers.back().get(), std::as_bytes(std::span(values.back())));
    }
    hipStream_t native = nullptr;
    ASSERT_EQ(hipStreamCreateWithPriority(&native, hipStreamDefault, 0), hipSuccess);
    {
      const auto stream = hip_stream(device_, native);
      EXPECT_FALSE(solution.run(*stream, {buffers[0].get(), buffers[1].get(), buffers[2].get()}));
      EXPECT_FALSE(stream->synchronize());
    }
    EXPECT_EQ(hipStreamDestroy(native), hipSuccess);
    std::vector<float> result(values[2].size());
    device_->copy_to_host(std::as_writable_bytes(std::span(result)), buffers[2].get());
    std::vector<std::span<std::byte>> spans;
    for (auto& each : values) spans.push_back(std::as_writable_bytes(std::span(each)));
    operation()->reference(hone::Problem(problem), spans);
    for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], values[2][i], 1e-5) << i;
  }

  // The trials of hip_tiled in the database.
  std::vector<storage::Trial> stored_trials() const {
    std::vector<storage::Trial> trials;
    storage::visit(directory_.path("database"), [&](const storage::Change& change) {
      const auto* merge = std::get_if<storage::MergeTrial>(&change);
      if (merge != nullptr && merge->trial.candidate.candidate.solver == "hip_tiled") trials.push_back(merge->trial);
    });
    return trials;
  }

  static Solution settled(Engine& engine) { return engine.async_settle(problem, asio::use_future).get(); }

  EmulatedHip& hip_ = EmulatedHip::get();
  test::TemporaryDirectory directory_;
  std::vector<std::string> isolation_program_ = {ISOLATED_GPU_PROGRAM};
  std::shared_ptr<Device> device_;
};

#define SKIP_WITHOUT_PRECOMPILED_CODE()                                                              \
  if (direct_f32("gfx90a").empty()) {                                                                \
    GTEST_SKIP() << "this build has no code that was compiled ahead (no compiler, or instrumented)"; \
  }

TEST_F(GemmGpuTest, TheFirstAnswerNeverWaitsForTheCompiler) {
  SKIP_WITHOUT_PRECOMPILED_CODE();
  std::promise<void> gate;
  auto engine = start(gate.get_future().share());
  const Solution first = engine->find(problem);  // while the compiler would block for ever
  EXPECT_EQ(first.candidate().solver, "hip_direct");
  expect_right(first);
  EXPECT_EQ(EmulatedCompiler::compilations, 0);
  gate.set_value();
  const Solution tuned = settled(*engine);
  EXPECT_EQ(tuned.candidate().solver, "hip_tiled");
  EXPECT_EQ(tuned.provenance(), Provenance::user);
  expect_right(tuned);
  EXPECT_GT(EmulatedCompiler::compilations, 0);
  EXPECT_EQ(hip_.default_stream_uses(), 0);
}

TEST_F(GemmGpuTest, TheSecondStartCompilesNothing) {
  Candidate best;
  {
    auto engine = start();
    const Solution tuned = settled(*engine);
    best = tuned.candidate();
    EXPECT_EQ(best.solver, "hip_tiled");
    EXPECT_GT(EmulatedCompiler::compilations, 0);
  }
  device_.reset();
  EmulatedCompiler::compilations = 0;
  auto engine = start({}, Policy::serving());
  const Solution again = settled(*engine);
  EXPECT_EQ(again.candidate(), best);
  EXPECT_EQ(again.provenance(), Provenance::user);
  expect_right(again);
  EXPECT_EQ(EmulatedCompiler::compilations, 0);
  EXPECT_EQ(engine->statistics().trials, 0u);
}

// Most of what the search asks for does not compile here: it is set aside, and the search goes on.
TEST_F(GemmGpuTest, WhatDoesNotCompileIsQuarantined) {
  auto engine = start();
  EventLog log(*engine);
  EXPECT_EQ(settled(*engine).candidate().solver, "hip_tiled");
  const Event quarantined = log.wait(EventKind::quarantined);
  EXPECT_THAT(quarantined.cause, HasSubstr("no such instance"));
  EXPECT_GT(engine->statistics().trials, engine->statistics().quarantined + 2);
}

// But for the default, which is the best guess whatever the compiler makes of it.
TEST_F(GemmGpuTest, HopelessConfigurationsAreRejectedBeforeTheyRun) {
  EmulatedCompiler::spilled_registers = 100;
  auto engine = start();
  const auto& limits = dynamic_cast<hone::hip::KernelDevice&>(*device_).limits();
  const Configuration standard = default_configuration(problem, limits);
  std::atomic<int> launches = 0;
  for (const Instance& instance : instances()) {
    const auto p = hone::Problem::parse(problem_type<Problem>(), instance.problem).as<Problem>();
    if (p.m != problem.m || instance.configuration == standard.text()) continue;
    const std::string code = code_of(definitions(p, *search_space(p, limits).parse(instance.configuration)));
    if (code == code_of(definitions(p, standard))) continue;
    hip_.add_kernel(code, "gemm", sizeof(Arguments), [&](const EmulatedLaunch&) { ++launches; });
  }
  EXPECT_EQ(settled(*engine).candidate(), (Candidate{"hip_tiled", 1, standard.text()}));
  engine.reset();
  int rejected = 0;
  for (const storage::Trial& trial : stored_trials()) {
    const std::string& configuration = trial.candidate.candidate.configuration;
    if (configuration == standard.text()) {
      EXPECT_EQ(trial.status, TrialStatus::ok) << trial.reason;
    } else if (!trial.facts.empty()) {
      ++rejected;
      EXPECT_EQ(trial.status, TrialStatus::prepare_failed);
      EXPECT_THAT(trial.reason, HasSubstr("its kernel gemm spills 100 registers")) << configuration;
    } else {
      EXPECT_THAT(trial.reason, HasSubstr("no such instance")) << configuration;
      continue;
    }
    EXPECT_EQ(trial.facts.at("spilled_registers"), 100);
    EXPECT_EQ(trial.facts.at("vector_registers"), 37);
  }
  EXPECT_GT(rejected, 0);
  EXPECT_EQ(launches, 0);
}

// The process has a device context of its own; only the winner is compiled here too.
TEST_F(GemmGpuTest, IsMeasuredInAProcessOfItsOwn) {
  Policy policy = Policy::offline();
  policy.isolate = true;
  auto engine = start({}, policy);
  const Solution tuned = settled(*engine);
  EXPECT_EQ(tuned.candidate().solver, "hip_tiled");
  EXPECT_EQ(tuned.provenance(), Provenance::user);
  expect_right(tuned);
  EXPECT_LT(EmulatedCompiler::compilations, 10);
  engine.reset();
  int with_facts = 0;
  for (const storage::Trial& trial : stored_trials()) {
    if (trial.status != TrialStatus::ok) continue;
    ++with_facts;
    EXPECT_EQ(trial.facts, (CodeFacts{{"vector_registers", 37},
                                      {"scalar_registers", 22},
                                      {"spilled_registers", usual_spilled_registers},
                                      {"local_memory_bytes", 8192},
                                      {"private_memory_bytes", 16}}));
  }
  EXPECT_GT(with_facts, 1);
}

// An illegal address there costs its candidate at most; the device serves the next process, and everybody else.
TEST_F(GemmGpuTest, AStickyErrorInAProcessOfItsOwnIsNotTheDevices) {
  isolation_program_.push_back(directory_.path("faulted"));
  Policy policy = Policy::offline();
  policy.isolate = true;
  auto engine = start({}, policy);
  EventLog log(*engine);
  const Solution tuned = settled(*engine);
  EXPECT_TRUE(std::filesystem::exists(directory_.path("faulted")));
  EXPECT_EQ(log.count(EventKind::device_lost), 0u);
  EXPECT_EQ(log.count(EventKind::job_failed), 0u);
  EXPECT_GT(engine->statistics().trials, 20u);
  EXPECT_EQ(tuned.provenance(), Provenance::user);
  expect_right(tuned);
}

struct FaultRow {
  const char* name;
  HipFault fault;
  bool device_is_lost;
};

void PrintTo(const FaultRow& row, std::ostream* out) { *out << row.name; }

class GemmGpuFaultTest : public GemmGpuTest, public ::testing::WithParamInterface<FaultRow> {};

// Whatever fails under way, the engine answers, says so, and ends.
TEST_P(GemmGpuFaultTest, EndsInItsEvent) {
  auto engine = start();
  EventLog log(*engine);
  hip_.inject(GetParam().fault, 20);
  std::error_code error;
  try {
    settled(*engine);
  } catch (const std::system_error& failure) {
    error = failure.code();
  }
  if (GetParam().device_is_lost) {
    EXPECT_EQ(error, Errc::no_device) << error.message();
    const Event lost = log.wait(EventKind::device_lost);
    EXPECT_EQ(lost.device, "hip:0");
    EXPECT_NE(lost.cause, "");
    // Another problem's question is answered too.
    Problem other = problem;
    other.m = 9;
    EXPECT_THAT(std::string(engine->find(other).reason()), HasSubstr("out of service"));
    EXPECT_EQ(log.count(EventKind::device_lost), 1u);
  } else {
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(log.count(EventKind::device_lost), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, GemmGpuFaultTest,
                         ::testing::Values(FaultRow{"OutOfMemory", HipFault::out_of_memory, false},
                                           FaultRow{"LaunchRefused", HipFault::launch_refused, false},
                                           FaultRow{"IllegalAddress", HipFault::illegal_address, true},
                                           FaultRow{"DeviceLost", HipFault::device_lost, true}),
                         [](const auto& row) { return row.param.name; });

template <class Element>
void check_direct(Problem p, void (*kernel)(DirectArguments)) {
  p.type = sizeof(Element) == 2 ? f16 : f32;
  const hone::Problem problem(p);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<Element>> values;
  for (const Operand& operand : operation()->operands(problem)) {
    values.emplace_back(operand.count);
    for (Element& value : values.back()) value = static_cast<Element>(uniform(random));
  }
  std::vector<Element> result = values[2];
  const hone::hip::KernelLaunch launch = direct_launch(p);
  const DirectArguments argument =
      direct_arguments(p, {values[0].data(), values[1].data(), result.data(), values[3].data()});
  hone::testing::WorkItems::run(launch.groups, launch.work_group, [&] { kernel(argument); });
  std::vector<std::span<std::byte>> spans;
  for (auto& each : values) spans.push_back(std::as_writable_bytes(std::span(each)));
  operation()->reference(problem, spans);
  const ErrorBound bound = operation()->error_bound(problem);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto expected = static_cast<double>(values[2][i]);
    ASSERT_NEAR(static_cast<double>(result[i]), expected, bound.absolute + bound.relative * std::abs(expected))
        << problem.text();
  }
}

// The kernel that is compiled ahead, over what a problem can be.
TEST(GemmDirect, EqualsTheReference) {
  const Problem shapes[] = {
      {.m = 7, .n = 5, .k = 9, .alpha = 0.5F, .beta = 2, .bias = true, .activation = Activation::gelu},
      {.m = 33, .n = 40, .k = 1, .transpose_a = true, .bias = true, .activation = Activation::relu},
      {.m = 4, .n = 300, .k = 17, .transpose_b = true, .batch = 3},
      {.m = 1, .n = 1, .k = 64, .transpose_a = true, .transpose_b = true}};
  for (const Problem& p : shapes) {
    check_direct<float>(p, &emulated::gemm_direct);
    check_direct<Half>(p, &emulated_half::gemm_direct);
  }
}

TEST(GemmDirect, RefusesWhatItCannotCount) {
  EXPECT_FALSE(refuse_direct(Problem{.m = 1 << 20, .n = 1 << 11, .k = 7}));
  EXPECT_THAT(refuse_direct(Problem{.m = 1 << 20, .n = (1 << 11) + 1, .k = 7}).value_or(""), HasSubstr("product"));
  EXPECT_THAT(refuse_direct(Problem{.m = 1, .n = 1, .k = 1, .batch = 65536}).value_or(""), HasSubstr("batch"));
}

}  // namespace
}  // namespace hone::gemm::hip
