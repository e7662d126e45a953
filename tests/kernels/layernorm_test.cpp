#include <cmath>
#include <hone/error.hpp>
#include <hone/layernorm.hpp>
#include <limits>

#include "kernels/layernorm/host/row_kernels.hpp"
#include "tests/kernels/operation_cases.hpp"

namespace hone::layernorm {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Problem& p) { return operation()->validate(hone::Problem(p)).value_or("valid"); }

TEST(LayernormValidation, NamesTheFieldAndWhatItAccepts) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal({.rows = 1, .columns = 1}), "valid");
  EXPECT_EQ(refusal({.rows = 0, .columns = 1}), "field rows must be positive");
  EXPECT_EQ(refusal({.rows = 1, .columns = 0}), "field columns must be positive");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .type = i8}), "field type accepts f32 and f16");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .epsilon = 0}), "field epsilon must be finite and above 0");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .epsilon = -1}), "field epsilon must be finite and above 0");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .epsilon = std::numeric_limits<float>::quiet_NaN()}),
            "field epsilon must be finite and above 0");
  EXPECT_EQ(refusal({.rows = 2, .columns = 3, .stride_y = 2}), "field stride_y must be 0 or at least columns");
  EXPECT_THAT(refusal({.rows = huge / 4, .columns = 8}), HasSubstr("operand x exceeds"));
}

// (1, 3, 5, 7): mean 4, variance 5; mean of squares 21.
TEST(LayernormReference, ComputesAKnownRow) {
  std::vector<float> x = {1, 3, 5, 7}, y(4), gain = {1, 2, 3, 4}, shift = {10, 20, 30, 40};
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(y)),
                                        std::as_writable_bytes(std::span(gain)),
                                        std::as_writable_bytes(std::span(shift))};
  operation()->reference(hone::Problem(Problem{.rows = 1, .columns = 4, .epsilon = 4}), spans);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(y[j], (x[j] - 4) / 3 * gain[j] + shift[j], 1e-5) << j;
  operation()->reference(
      hone::Problem(Problem{.rows = 1, .columns = 4, .epsilon = 4, .root_mean_square = true, .shift = false}), spans);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(y[j], x[j] / 5 * gain[j], 1e-6) << j;
}

// A lost element among equals moves the mean by one part in `columns` of it.
TEST(LayernormReference, BoundCatchesALostTerm) {
  for (const std::int64_t columns : {4, 100, 10'000}) {
    const ErrorBound bound =
        operation()->error_bound(hone::Problem(Problem{.rows = 1, .columns = columns, .gain = false, .shift = false}));
    EXPECT_LT(bound.absolute, 0.5 / static_cast<double>(columns)) << columns;
  }
}

TEST(LayernormOperation, SaysWhatEveryOperandHolds) {
  const auto operands = operation()->operands(
      hone::Problem(Problem{.rows = 3, .columns = 5, .type = f16, .shift = false, .stride_x = 7}));
  ASSERT_EQ(operands.size(), 4U);
  EXPECT_EQ(operands[0].count, 19U);
  EXPECT_EQ(operands[1].count, 15U);
  EXPECT_EQ(operands[1].role, OperandRole::output);
  EXPECT_EQ(operands[2].count, 5U);
  EXPECT_EQ(operands[2].type, f16);
  EXPECT_EQ(operands[3].count, 0U);
}

class LayernormSolver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    solver_ = hone::testing::solver_of(*operation(), GetParam());
    if (!solver_) GTEST_SKIP() << "the library of " << GetParam() << " is not here";
  }
  void check(const Problem& p) { checked_ += hone::testing::check_all(*operation(), hone::Problem(p), *solver_); }

  std::shared_ptr<const Solver> solver_;
  int checked_ = 0;
};

TEST_P(LayernormSolver, EqualsTheReferenceOverOddSizes) {
  for (const std::int64_t columns : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000, 4099}) {
    check({.rows = 3, .columns = columns});
  }
  EXPECT_GE(checked_, 19);
}

TEST_P(LayernormSolver, TakesEveryCombinationOfGainShiftAndMean) {
  for (const bool gain : {false, true}) {
    for (const bool shift : {false, true}) {
      for (const bool root_mean_square : {false, true}) {
        for (const float epsilon : {1e-6F, 0.5F}) {
          check({.rows = 4,
                 .columns = 75,
                 .epsilon = epsilon,
                 .root_mean_square = root_mean_square,
                 .gain = gain,
                 .shift = shift});
        }
      }
    }
  }
  EXPECT_GE(checked_, 8);
}

TEST_P(LayernormSolver, LeavesGapsBetweenRowsAlone) {
  check({.rows = 6, .columns = 37, .stride_x = 50, .stride_y = 50});
  check({.rows = 6, .columns = 37, .stride_x = 41, .stride_y = 50});
  check({.rows = 6, .columns = 37, .stride_x = 37, .stride_y = 37});
  EXPECT_GE(checked_, solver_->id() == "onednn" ? 1 : 3);
}

TEST_P(LayernormSolver, TakesHalfPrecisionOrRefuses) {
  const Problem p{.rows = 4, .columns = 77, .type = f16, .stride_x = 80, .stride_y = 80};
  check(p);
  if (checked_ == 0) {
    EXPECT_EQ(solver_->applicable(hone::Problem(p), *host_device()), "this solver's type is f32");
  }
  EXPECT_EQ(solver_->id() == operation()->fallback(), checked_ > 0);
}

// A sum of squares less the square of the sum would leave nothing of the variance here.
TEST_P(LayernormSolver, KeepsTheVarianceOfValuesFarFromZero) {
  const hone::Problem problem(Problem{.rows = 1, .columns = 64, .gain = false, .shift = false});
  const auto device = host_device();
  const auto stream = host_stream();
  solver_->search_space(problem, *device).for_each([&](const Configuration& configuration) {
    std::vector<float> x(64), y(64);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = 10000 + static_cast<float>(j % 2);
    EXPECT_FALSE(solver_->prepare(problem, configuration, *device)->run(*stream, {x.data(), y.data()}));
    for (std::size_t j = 0; j < x.size(); ++j) {
      EXPECT_NEAR(y[j], j % 2 == 0 ? -1 : 1, 1e-3) << solver_->id() << ' ' << configuration.text();
    }
    return true;
  });
}

TEST_P(LayernormSolver, AnswersAMissingOperandWithAnError) {
  const hone::Problem problem(Problem{.rows = 2, .columns = 20});
  const auto device = host_device();
  const auto stream = host_stream();
  const auto invoker = solver_->prepare(problem, solver_->default_configuration(problem, *device), *device);
  std::vector<float> x(40), y(40), row(20);
  EXPECT_EQ(invoker->run(*stream, {x.data(), y.data(), row.data(), row.data()}), std::error_code());
  EXPECT_EQ(invoker->run(*stream, {x.data(), y.data(), row.data()}), make_error_code(Errc::launch_failed));
  EXPECT_EQ(invoker->run(*stream, {x.data(), y.data(), nullptr, row.data()}), make_error_code(Errc::launch_failed));
  EXPECT_EQ(invoker->run(*stream, {x.data(), nullptr, row.data(), row.data()}), make_error_code(Errc::launch_failed));
}

TEST_P(LayernormSolver, RunsOneInvokerOnManyThreads) {
  const hone::Problem problem(Problem{.rows = 5, .columns = 100});
  EXPECT_EQ(hone::testing::wrong_on_many_threads(*operation(), problem, *solver_), 0);
}

TEST_P(LayernormSolver, RefusesAnotherDevice) {
  const hone::testing::OtherDevice other;
  EXPECT_THAT(solver_->applicable(hone::Problem(Problem{.rows = 2, .columns = 3}), other).value_or("runs"),
              HasSubstr("host"));
}

INSTANTIATE_TEST_SUITE_P(Solvers, LayernormSolver, ::testing::Values("rows", "direct", "onednn"),
                         [](const auto& param) { return std::string(param.param); });

// Every instruction set that this processor has, not only the widest one.
TEST(LayernormRows, EveryInstructionSetComputesEveryMethod) {
  for (const host::RowKernels* set : {host::portable_rows(), host::avx2_rows(), host::avx512_rows()}) {
    if (set == nullptr) continue;
    for (int method = 0; method < host::methods; ++method) {
      for (int place = 0; place < host::unroll_count; ++place) {
        for (const std::int64_t columns : {1, 5, 16, 37, 150}) {
          for (const bool root_mean_square : {false, true}) {
            std::vector<float> x(static_cast<std::size_t>(columns)), y(x.size()), expected(x.size());
            for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(j * 37 % 20) / 7 - 1;
            const std::span<std::byte> spans[] = {
                std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(expected)), {}, {}};
            const Problem p{
                .rows = 1, .columns = columns, .root_mean_square = root_mean_square, .gain = false, .shift = false};
            operation()->reference(hone::Problem(p), spans);
            set->kernels[method][place]({x.data(), y.data(), nullptr, nullptr, columns, p.epsilon, root_mean_square});
            for (std::size_t j = 0; j < y.size(); ++j) {
              ASSERT_NEAR(y[j], expected[j], 2e-6 + 2e-6 * std::abs(expected[j]))
                  << set->name << " method " << method << " unroll " << host::unrolls[place] << " columns " << columns;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::layernorm
