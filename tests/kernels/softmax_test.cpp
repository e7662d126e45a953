#include <cmath>
#include <hone/error.hpp>
#include <hone/softmax.hpp>
#include <limits>

#include "kernels/element.hpp"
#include "kernels/softmax/host/row_kernels.hpp"
#include "tests/kernels/operation_cases.hpp"

namespace hone::softmax {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Problem& p) { return operation()->validate(hone::Problem(p)).value_or("valid"); }

TEST(SoftmaxValidation, NamesTheFieldAndWhatItAccepts) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal({.rows = 1, .columns = 1}), "valid");
  EXPECT_EQ(refusal({.rows = 2, .columns = 3, .type = f16, .stride_x = 3, .stride_y = 9}), "valid");
  EXPECT_EQ(refusal({.rows = 0, .columns = 1}), "field rows must be positive");
  EXPECT_EQ(refusal({.rows = 1, .columns = -1}), "field columns must be positive");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .type = f64}), "field type accepts f32 and f16");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .type = static_cast<DataType>(99)}), "field type accepts f32 and f16");
  EXPECT_EQ(refusal({.rows = 1, .columns = 1, .scale = std::numeric_limits<float>::infinity()}),
            "field scale must be finite");
  EXPECT_EQ(refusal({.rows = 2, .columns = 3, .stride_x = 2}), "field stride_x must be 0 or at least columns");
  EXPECT_EQ(refusal({.rows = 2, .columns = 3, .stride_y = -3}), "field stride_y must be 0 or at least columns");
  EXPECT_THAT(refusal({.rows = huge, .columns = 2}), HasSubstr("operand x exceeds"));
  EXPECT_THAT(refusal({.rows = 3, .columns = 2, .stride_y = huge / 2}), HasSubstr("operand y exceeds"));
  EXPECT_THAT(refusal({.rows = 1, .columns = huge}), HasSubstr("operand x exceeds"));
}

TEST(SoftmaxReference, ComputesAKnownRow) {
  std::vector<float> x = {0, std::log(2.0F), std::log(5.0F), 1000, 1000, 1000}, y(6);
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(y))};
  operation()->reference(hone::Problem(Problem{.rows = 2, .columns = 3}), spans);
  const float expected[] = {0.125F, 0.25F, 0.625F, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(y[i], expected[i], 1e-7) << i;
  operation()->reference(hone::Problem(Problem{.rows = 2, .columns = 3, .logarithm = true}), spans);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(y[i], std::log(expected[i]), 1e-6) << i;
}

TEST(SoftmaxReference, RoundsHalfPrecisionOnce) {
  std::vector<Half> x = {Half(0), Half(0), Half(0)}, y(3);
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(y))};
  operation()->reference(hone::Problem(Problem{.rows = 1, .columns = 3, .type = f16}), spans);
  for (const Half value : y) EXPECT_EQ(static_cast<float>(value), 0x1.554p-2F);
}

// One lost term of a sum of equals changes the result by one part in `columns`.
TEST(SoftmaxReference, BoundCatchesALostTerm) {
  for (const std::int64_t columns : {2, 100, 10'000}) {
    const ErrorBound bound = operation()->error_bound(hone::Problem(Problem{.rows = 1, .columns = columns}));
    const double share = 1 / static_cast<double>(columns);
    EXPECT_LT(bound.absolute + bound.relative * share, share / static_cast<double>(columns)) << columns;
  }
}

class SoftmaxSolver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    solver_ = hone::testing::solver_of(*operation(), GetParam());
    if (!solver_) GTEST_SKIP() << "the library of " << GetParam() << " is not here";
  }
  void check(const Problem& p) { checked_ += hone::testing::check_all(*operation(), hone::Problem(p), *solver_); }

  std::shared_ptr<const Solver> solver_;
  int checked_ = 0;
};

TEST_P(SoftmaxSolver, EqualsTheReferenceOverOddSizes) {
  for (const std::int64_t columns : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000, 4099}) {
    check({.rows = 3, .columns = columns});
  }
  EXPECT_GE(checked_, 19);
}

TEST_P(SoftmaxSolver, ComputesLogarithmsAndScales) {
  for (const std::int64_t columns : {1, 19, 70, 513}) {
    for (const float scale : {1.0F, 0.125F, -2.0F, 30.0F}) {
      for (const bool logarithm : {false, true}) {
        check({.rows = 5, .columns = columns, .scale = scale, .logarithm = logarithm});
      }
    }
  }
  EXPECT_GE(checked_, 8);
}

TEST_P(SoftmaxSolver, LeavesGapsBetweenRowsAlone) {
  check({.rows = 6, .columns = 37, .stride_x = 41, .stride_y = 50});
  check({.rows = 6, .columns = 32, .stride_x = 32, .stride_y = 33});
  check({.rows = 1, .columns = 37, .stride_x = 41, .stride_y = 50});
  EXPECT_GE(checked_, 3);
}

TEST_P(SoftmaxSolver, TakesHalfPrecisionOrRefuses) {
  const Problem p{.rows = 4, .columns = 77, .type = f16, .stride_x = 80, .stride_y = 79};
  check(p);
  if (checked_ == 0) {
    EXPECT_EQ(solver_->applicable(hone::Problem(p), *host_device()), "this solver's type is f32");
  }
  EXPECT_EQ(solver_->id() == operation()->fallback(), checked_ > 0);
}

TEST_P(SoftmaxSolver, GivesMaskedElementsNothing) {
  const hone::Problem problem(Problem{.rows = 1, .columns = 40});
  const auto device = host_device();
  const auto stream = host_stream();
  const float masked = -std::numeric_limits<float>::infinity();
  solver_->search_space(problem, *device).for_each([&](const Configuration& configuration) {
    for (const int first : {0, 39}) {
      std::vector<float> x(40, masked), y(40, -1);
      x[static_cast<std::size_t>(first)] = x[5] = 700;
      EXPECT_FALSE(solver_->prepare(problem, configuration, *device)->run(*stream, {x.data(), y.data()}));
      for (int j = 0; j < 40; ++j) {
        EXPECT_NEAR(y[static_cast<std::size_t>(j)], j == first || j == 5 ? 0.5 : 0, 1e-6)
            << solver_->id() << ' ' << configuration.text() << " at " << j;
      }
    }
    return true;
  });
}

TEST_P(SoftmaxSolver, AnswersAMissingOperandWithAnError) {
  const hone::Problem problem(Problem{.rows = 2, .columns = 20});
  const auto device = host_device();
  const auto stream = host_stream();
  const auto invoker = solver_->prepare(problem, solver_->default_configuration(problem, *device), *device);
  std::vector<float> values(40);
  EXPECT_EQ(invoker->run(*stream, {values.data()}), make_error_code(Errc::launch_failed));
  EXPECT_EQ(invoker->run(*stream, {nullptr, values.data()}), make_error_code(Errc::launch_failed));
}

TEST_P(SoftmaxSolver, RunsOneInvokerOnManyThreads) {
  const hone::Problem problem(Problem{.rows = 5, .columns = 100});
  EXPECT_EQ(hone::testing::wrong_on_many_threads(*operation(), problem, *solver_), 0);
}

TEST_P(SoftmaxSolver, RefusesAnotherDevice) {
  const hone::testing::OtherDevice other;
  EXPECT_THAT(solver_->applicable(hone::Problem(Problem{.rows = 2, .columns = 3}), other).value_or("runs"),
              HasSubstr("host"));
}

INSTANTIATE_TEST_SUITE_P(Solvers, SoftmaxSolver, ::testing::Values("rows", "direct", "onednn"),
                         [](const auto& param) { return std::string(param.param); });

// Every instruction set that this processor has, not only the widest one.
TEST(SoftmaxRows, EveryInstructionSetComputesEveryMethod) {
  for (const host::RowKernels* set : {host::portable_rows(), host::avx2_rows(), host::avx512_rows()}) {
    if (set == nullptr) continue;
    for (int method = 0; method < host::methods; ++method) {
      for (int place = 0; place < host::unroll_count; ++place) {
        for (const std::int64_t columns : {1, 5, 16, 37, 150}) {
          for (const bool logarithm : {false, true}) {
            std::vector<float> x(static_cast<std::size_t>(columns)), y(x.size()), expected(x.size());
            for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(j * 37 % 20) / 7 - 1;
            const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(x)),
                                                  std::as_writable_bytes(std::span(expected))};
            const Problem p{.rows = 1, .columns = columns, .scale = 1.5F, .logarithm = logarithm};
            operation()->reference(hone::Problem(p), spans);
            set->kernels[method][place]({x.data(), y.data(), columns, p.scale, logarithm});
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

TEST(SoftmaxOperation, NamesItsKernelsInTheFacts) {
  EXPECT_THAT(operation()->facts().at("softmax kernels"), HasSubstr(" on "));
}

}  // namespace
}  // namespace hone::softmax
