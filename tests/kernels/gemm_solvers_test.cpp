#include <atomic>
#include <hone/error.hpp>
#include <thread>

#include "tests/kernels/gemm_cases.hpp"
#include "tests/kernels/operation_cases.hpp"

namespace hone::gemm {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Every solver that is built in, by name: a library missing on the machine skips its cases.
class GemmSolver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const auto& candidate : operation()->solvers()) {
      if (candidate->id() == GetParam()) solver_ = candidate;
    }
    if (!solver_) GTEST_SKIP() << "the library of " << GetParam() << " is not here";
  }

  // Runs the default configuration where the solver is applicable.
  void check(const Problem& p) {
    const hone::Problem problem(p);
    ASSERT_EQ(operation()->validate(problem), std::nullopt) << problem.text();
    if (solver_->applicable(problem, *device_)) return;
    ++checked_;
    const Case c(p);
    const auto invoker = solver_->prepare(problem, solver_->default_configuration(problem, *device_), *device_);
    EXPECT_EQ(c.check(*invoker, *stream_), "") << problem.text();
  }

  std::shared_ptr<Device> device_ = host_device();
  std::unique_ptr<Stream> stream_ = host_stream();
  std::shared_ptr<const Solver> solver_;
  int checked_ = 0;
};

constexpr struct {
  std::int64_t m, n, k;
} sizes[] = {{1, 1, 1},    {1, 17, 5},   {2, 3, 64},   {5, 31, 33},   {8, 16, 16},  {13, 64, 1},
             {16, 48, 32}, {31, 65, 70}, {33, 1, 130}, {64, 100, 40}, {7, 130, 257}};

TEST_P(GemmSolver, ComputesEveryTranspositionOfOddSizes) {
  for (const auto& size : sizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        check({.m = size.m, .n = size.n, .k = size.k, .transpose_a = transpose_a, .transpose_b = transpose_b});
      }
    }
  }
  EXPECT_GE(checked_, 8);
}

TEST_P(GemmSolver, AppliesAlphaBetaBiasAndActivation) {
  for (const float alpha : {1.0F, 0.25F, -1.5F}) {
    for (const float beta : {0.0F, 1.0F, -0.5F}) {
      for (const bool bias : {false, true}) {
        for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
          check({.m = 9, .n = 37, .k = 21, .alpha = alpha, .beta = beta, .bias = bias, .activation = activation});
          check({.m = 6,
                 .n = 32,
                 .k = 40,
                 .transpose_b = true,
                 .alpha = alpha,
                 .beta = beta,
                 .bias = bias,
                 .activation = activation,
                 .batch = 2});
        }
      }
    }
  }
  EXPECT_GE(checked_, 20);
}

TEST_P(GemmSolver, LeavesGapsBetweenRowsAndMatricesAlone) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const float beta : {0.0F, 1.0F}) {
        check({.m = 10,
               .n = 35,
               .k = 18,
               .transpose_a = transpose_a,
               .transpose_b = transpose_b,
               .beta = beta,
               .bias = true,
               .activation = Activation::relu,
               .batch = 3,
               .lda = 41,
               .ldb = 52,
               .ldc = 39,
               .stride_a = 1000,
               .stride_b = 2100,
               .stride_c = 500});
      }
    }
  }
  EXPECT_GE(checked_, 4);
}

TEST_P(GemmSolver, ComputesTheHeadsOfAnAttentionLayerInPlace) {
  for (const std::int64_t tokens : {8, 24, 40}) {
    constexpr std::int64_t heads = 4, width = 32, row = 3 * heads * width;
    check({.m = tokens,
           .n = tokens,
           .k = width,
           .transpose_b = true,
           .alpha = 0.17677669F,
           .batch = heads,
           .lda = row,
           .ldb = row,
           .stride_a = width,
           .stride_b = width});
    check({.m = tokens,
           .n = width,
           .k = tokens,
           .batch = heads,
           .ldb = row,
           .ldc = heads * width,
           .stride_b = width,
           .stride_c = width});
  }
}

TEST_P(GemmSolver, StaysWithinAWorkspaceLimitOrRefuses) {
  for (const std::int64_t limit : {0, 1000, 100000}) {
    const Problem p{.m = 33, .n = 70, .k = 50, .transpose_b = true, .workspace_limit = limit};
    const hone::Problem problem(p);
    if (const Refusal refusal = solver_->applicable(problem, *device_)) {
      EXPECT_THAT(*refusal, AnyOf(HasSubstr("workspace_limit"), HasSubstr("multiples"))) << limit;
      continue;
    }
    const Configuration configuration = solver_->default_configuration(problem, *device_);
    EXPECT_LE(solver_->workspace(problem, configuration), static_cast<std::size_t>(limit));
    EXPECT_TRUE(solver_->search_space(problem, *device_).contains(configuration));
    check(p);
  }
}

TEST_P(GemmSolver, ReportsItsWorkspaceAndARefusalOfIt) {
  class NoScratch final : public Stream {
   public:
    std::error_code synchronize() noexcept override { return {}; }
    std::error_code time(const std::function<std::error_code()>&, int, std::chrono::nanoseconds&) noexcept override {
      return {};
    }
    void* scratch(std::size_t bytes) noexcept override {
      asked = bytes;
      return nullptr;
    }
    std::size_t asked = 0;
  };
  const Problem p{.m = 20, .n = 45, .k = 33, .transpose_b = true};
  const hone::Problem problem(p);
  ASSERT_EQ(solver_->applicable(problem, *device_), std::nullopt);
  const Configuration configuration = solver_->default_configuration(problem, *device_);
  const auto invoker = solver_->prepare(problem, configuration, *device_);
  Case c(p);
  NoScratch stream;
  const std::error_code error = invoker->run(stream, {c.a.data(), c.b.data(), c.c.data()});
  EXPECT_EQ(stream.asked, solver_->workspace(problem, configuration));
  EXPECT_EQ(error, stream.asked > 0 ? make_error_code(Errc::out_of_memory) : std::error_code());
}

TEST_P(GemmSolver, AnswersAMissingOperandWithAnError) {
  const Problem p{.m = 20, .n = 45, .k = 33, .bias = true};
  const hone::Problem problem(p);
  ASSERT_EQ(solver_->applicable(problem, *device_), std::nullopt);
  const auto invoker = solver_->prepare(problem, solver_->default_configuration(problem, *device_), *device_);
  Case c(p);
  EXPECT_EQ(invoker->run(*stream_, {c.a.data(), c.b.data(), c.c.data()}), make_error_code(Errc::launch_failed));
  EXPECT_EQ(invoker->run(*stream_, {nullptr, c.b.data(), c.c.data(), c.bias.data()}),
            make_error_code(Errc::launch_failed));
}

TEST_P(GemmSolver, RunsOneInvokerOnManyThreads) {
  const Problem p{.m = 24, .n = 50, .k = 35, .transpose_b = true, .bias = true, .activation = Activation::gelu};
  const hone::Problem problem(p);
  ASSERT_EQ(solver_->applicable(problem, *device_), std::nullopt);
  const auto invoker = solver_->prepare(problem, solver_->default_configuration(problem, *device_), *device_);
  const Case c(p);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto stream = host_stream();
      for (int round = 0; round < 50; ++round) wrong += c.check(*invoker, *stream).empty() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(GemmSolver, TakesHalfPrecisionOrRefuses) {
  int taken = 0;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Problem p{.m = 5, .n = 131, .k = 37, .type = f16, .transpose_a = transpose_a, .transpose_b = transpose_b};
      p.alpha = 0.5F;
      p.beta = transpose_a ? 2 : 0;
      p.bias = transpose_b;
      p.activation = transpose_a ? Activation::gelu : Activation::relu;
      p.batch = 2;
      p.ldc = 140;
      const hone::Problem problem(p);
      if (const Refusal refusal = solver_->applicable(problem, *device_)) {
        EXPECT_EQ(*refusal, "this solver's type is f32");
        continue;
      }
      EXPECT_EQ(hone::testing::check(*operation(), problem, *solver_, {}), "") << problem.text();
      ++taken;
    }
  }
  EXPECT_EQ(taken, solver_->id() == operation()->fallback() ? 4 : 0);
}

TEST_P(GemmSolver, RefusesAnotherDevice) {
  EXPECT_THAT(
      solver_->applicable(hone::Problem(Problem{.m = 4, .n = 5, .k = 6}), testing::OtherDevice()).value_or("runs"),
      HasSubstr("host"));
}

INSTANTIATE_TEST_SUITE_P(Solvers, GemmSolver,
                         ::testing::Values("openblas", "blis", "onednn", "libxsmm", "blocked", "direct",
                                           "openblas_padded", "blis_padded", "onednn_padded"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace hone::gemm
