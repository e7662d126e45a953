#include <hone/conv2d.hpp>
#include <hone/error.hpp>
#include <limits>

#include "kernels/conv2d/geometry.hpp"
#include "tests/kernels/operation_cases.hpp"

namespace hone::conv2d {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

// A valid problem to change.
Problem small() {
  return {.channels = 4, .height = 9, .width = 11, .filters = 6, .filter_height = 3, .filter_width = 3};
}

template <class Change>
std::string refusal(Change change) {
  Problem p = small();
  change(p);
  return operation()->validate(hone::Problem(p)).value_or("valid");
}

TEST(Conv2dValidation, NamesTheFieldAndWhatItAccepts) {
  EXPECT_EQ(refusal([](Problem&) {}), "valid");
  EXPECT_EQ(refusal([](Problem& p) { p.batch = 0; }), "field batch must be positive");
  EXPECT_EQ(refusal([](Problem& p) { p.channels = -1; }), "field channels must be positive");
  EXPECT_EQ(refusal([](Problem& p) { p.stride_width = 0; }), "field stride_width must be positive");
  EXPECT_EQ(refusal([](Problem& p) { p.dilation_height = 0; }), "field dilation_height must be positive");
  EXPECT_EQ(refusal([](Problem& p) { p.groups = 0; }), "field groups must be positive");
  EXPECT_EQ(refusal([](Problem& p) { p.pad_width = -1; }), "field pad_width must not be negative");
  EXPECT_EQ(refusal([](Problem& p) { p.pad_height = huge; }), "field pad_height must be at most 2^30");
  EXPECT_EQ(refusal([](Problem& p) { p.filter_width = huge; }), "field filter_width must be at most 2^30");
  EXPECT_EQ(refusal([](Problem& p) { p.type = i8; }), "field type accepts f32 and f16");
  EXPECT_EQ(refusal([](Problem& p) { p.layout = static_cast<ImageLayout>(7); }), "field layout accepts nchw and nhwc");
  EXPECT_EQ(refusal([](Problem& p) { p.activation = static_cast<Activation>(7); }),
            "field activation accepts none, relu and gelu");
  EXPECT_EQ(refusal([](Problem& p) { p.groups = 3; }), "field channels must be a multiple of groups");
  EXPECT_EQ(refusal([](Problem& p) { p.groups = 4; }), "field filters must be a multiple of groups");
  EXPECT_THAT(refusal([](Problem& p) { p.filter_height = 10; }), HasSubstr("field filter_height, dilated, must fit"));
  EXPECT_THAT(refusal([](Problem& p) { p.dilation_width = 6; }), HasSubstr("field filter_width, dilated, must fit"));
  EXPECT_EQ(refusal([](Problem& p) { p.filter_height = 9; }), "valid");
  EXPECT_THAT(refusal([](Problem& p) { p.batch = p.height = p.width = 1 << 30; }), HasSubstr("operand x exceeds"));
  EXPECT_THAT(refusal([](Problem& p) { p.filters = p.channels = p.groups = 1 << 30, p.width = p.height = 4; }),
              "valid");
  EXPECT_THAT(refusal([](Problem& p) { p.filters = 1 << 30, p.channels = 1 << 29; }),
              HasSubstr("operand weights exceeds"));
}

TEST(Conv2dGeometry, RoundsTheOutputDown) {
  Problem p = small();
  EXPECT_EQ(geometry_of(p).output_height, 7);
  EXPECT_EQ(geometry_of(p).output_width, 9);
  p.pad_height = 1;
  p.stride_height = 2;
  EXPECT_EQ(geometry_of(p).output_height, 5);  // (9 + 2 - 3) / 2 + 1
  p.dilation_height = 4;
  EXPECT_EQ(geometry_of(p).output_height, 2);  // (9 + 2 - 9) / 2 + 1
  p.stride_width = 7;
  EXPECT_EQ(geometry_of(p).output_width, 2);  // (11 - 3) / 7 + 1
}

std::vector<float> reference(const Problem& p, std::vector<float> x, std::vector<float> weights,
                             std::vector<float> bias = {}) {
  std::vector<float> y(geometry_of(p).y_count);
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(x)),
                                        std::as_writable_bytes(std::span(weights)),
                                        std::as_writable_bytes(std::span(y)), std::as_writable_bytes(std::span(bias))};
  operation()->reference(hone::Problem(p), spans);
  return y;
}

using ::testing::ElementsAre;

// Worked out by hand.
TEST(Conv2dReference, ComputesKnownImages) {
  Problem p{.channels = 1, .height = 3, .width = 3, .filters = 1, .filter_height = 2, .filter_width = 2};
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(reference(p, x, {1, 10, 100, 1000}), ElementsAre(5421, 6532, 8754, 9865));
  p.pad_height = 1;
  p.stride_width = 2;
  EXPECT_THAT(reference(p, x, {1, 10, 100, 1000}), ElementsAre(2100, 5421, 8754, 87));
  p = {.channels = 1, .height = 3, .width = 3, .filters = 1, .filter_height = 2, .filter_width = 2};
  p.dilation_height = p.dilation_width = 2;
  p.bias = true;
  EXPECT_THAT(reference(p, x, {1, 10, 100, 1000}, {0.5F}), ElementsAre(9731.5F));
  p.activation = Activation::relu;
  EXPECT_THAT(reference(p, x, {-1, -10, -100, -1000}, {0.5F}), ElementsAre(0));
}

// Two groups of one filter: each sees its own channel. nhwc has the channels side by side.
TEST(Conv2dReference, KeepsGroupsAndLayoutsApart) {
  Problem p{.channels = 2, .height = 1, .width = 3, .filters = 2, .filter_height = 1, .filter_width = 2, .groups = 2};
  EXPECT_THAT(reference(p, {1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}), ElementsAre(21, 32, 5400, 6500));
  p.layout = ImageLayout::nhwc;
  EXPECT_THAT(reference(p, {1, 4, 2, 5, 3, 6}, {1, 10, 100, 1000}), ElementsAre(21, 5400, 32, 6500));
  p.groups = 1;  // filters x 1 x 2 x 2 channels
  EXPECT_THAT(reference(p, {1, 4, 2, 5, 3, 6}, {1, 0, 0, 10, 0, 100, 1000, 0}), ElementsAre(51, 2400, 62, 3500));
}

TEST(Conv2dReference, BoundCatchesALostTerm) {
  for (const std::int64_t channels : {1, 64, 512}) {
    Problem p = small();
    p.channels = channels;
    // A typical term is a product of two random numbers: 1/3 in the root mean square.
    EXPECT_LT(operation()->error_bound(hone::Problem(p)).absolute, 0.1 / 3) << channels;
  }
}

TEST(Conv2dOperation, SaysWhatEveryOperandHolds) {
  Problem p = small();
  p.batch = 2;
  p.groups = 2;
  p.type = f16;
  const auto operands = operation()->operands(hone::Problem(p));
  ASSERT_EQ(operands.size(), 4U);
  EXPECT_EQ(operands[0].count, 2U * 4 * 9 * 11);
  EXPECT_EQ(operands[1].count, 6U * 2 * 3 * 3);
  EXPECT_EQ(operands[2].count, 2U * 6 * 7 * 9);
  EXPECT_EQ(operands[2].role, OperandRole::output);
  EXPECT_EQ(operands[3].count, 0U);
  p.bias = true;
  EXPECT_EQ(operation()->operands(hone::Problem(p))[3].count, 6U);
}

class Conv2dSolver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    solver_ = hone::testing::solver_of(*operation(), GetParam());
    if (!solver_) GTEST_SKIP() << "the library of " << GetParam() << " is not here";
    winograd_ = solver_->id() == "onednn_winograd";
    const Problem suitable = winograd_problem();
    if (winograd_ && solver_->applicable(hone::Problem(suitable), *host_device())) {
      GTEST_SKIP() << "oneDNN has no Winograd algorithm for this processor";
    }
  }

  static Problem winograd_problem() {
    Problem p = small();
    p.channels = 32;
    p.filters = 16;
    p.pad_height = p.pad_width = 1;
    return p;
  }

  // A problem that the solver takes.
  Problem suitable() const { return winograd_ ? winograd_problem() : small(); }

  // The default and a spread of other configurations against the reference, in both layouts.
  void check(Problem p) {
    for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
      p.layout = layout;
      const hone::Problem problem(p);
      ASSERT_EQ(operation()->validate(problem), std::nullopt) << problem.text();
      if (solver_->applicable(problem, *device_)) continue;
      check(problem, solver_->default_configuration(problem, *device_));
      const SearchSpace space = solver_->search_space(problem, *device_);
      for (int i = 0; i < 8 && !space.empty(); ++i) check(problem, *space.sample(random_));
      ++checked_;
    }
  }
  void check(const hone::Problem& problem, const Configuration& configuration) {
    // The space says what a user may store; the library may have no code for some of it.
    try {
      EXPECT_EQ(hone::testing::check(*operation(), problem, *solver_, configuration), "")
          << solver_->id() << ' ' << configuration.text() << ": " << problem.text();
    } catch (const std::exception& error) {
      EXPECT_THAT(solver_->id(), ::testing::StartsWith("onednn")) << error.what() << ": " << problem.text();
      ++not_there_;
    }
  }

  const std::shared_ptr<Device> device_ = host_device();
  std::shared_ptr<const Solver> solver_;
  std::mt19937_64 random_{1};
  bool winograd_ = false;
  int checked_ = 0, not_there_ = 0;
};

TEST_P(Conv2dSolver, EqualsTheReferenceOverOddSizes) {
  check(suitable());
  for (const auto& [channels, filters, height, width] :
       {std::tuple(1, 1, 3, 3), std::tuple(3, 17, 13, 70), std::tuple(5, 7, 4, 129), std::tuple(16, 32, 8, 8),
        std::tuple(32, 16, 7, 5), std::tuple(48, 16, 15, 16)}) {
    check({.batch = 2,
           .channels = channels,
           .height = height,
           .width = width,
           .filters = filters,
           .filter_height = 3,
           .filter_width = 3});
  }
  EXPECT_GE(checked_, winograd_ ? 6 : 14);
  EXPECT_LE(not_there_, 4);
}

TEST_P(Conv2dSolver, TakesPadsStridesAndDilationsOrRefuses) {
  int taken = 0;
  for (const std::int64_t pad : {0, 1, 3}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t dilation : {1, 2}) {
        Problem p = suitable();
        p.pad_height = pad;
        p.pad_width = pad / 2;
        p.stride_height = stride;
        p.stride_width = stride == 3 ? 1 : stride;
        p.dilation_height = dilation;
        p.dilation_width = 3 - dilation;
        check(p);
        ++taken;
      }
    }
  }
  if (!winograd_) {
    EXPECT_EQ(checked_, 2 * taken);
  }
}

TEST_P(Conv2dSolver, TakesEveryShapeOfFilterOrRefuses) {
  for (const auto& [height, width] :
       {std::pair(1, 1), std::pair(1, 5), std::pair(4, 1), std::pair(2, 3), std::pair(7, 7), std::pair(9, 11)}) {
    Problem p = suitable();
    p.filter_height = height;
    p.filter_width = width;
    check(p);
    p.stride_height = p.stride_width = 2;
    check(p);
    p.pad_height = 2;
    check(p);
  }
  if (!winograd_) {
    EXPECT_EQ(checked_, 36);
  }
}

TEST_P(Conv2dSolver, TakesGroupsOrRefuses) {
  for (const std::int64_t groups : {2, 4}) {
    Problem p = small();
    p.filters = 8;
    p.groups = groups;
    p.bias = true;
    check(p);
    p.filter_height = p.filter_width = 1;
    check(p);
  }
  Problem depthwise = small();
  depthwise.channels = depthwise.filters = depthwise.groups = 24;
  depthwise.pad_height = depthwise.pad_width = 1;
  check(depthwise);
  if (!winograd_) {
    EXPECT_EQ(checked_, 10);
  }
}

TEST_P(Conv2dSolver, AppliesBiasAndActivation) {
  for (const bool bias : {false, true}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      Problem p = suitable();
      p.batch = 2;
      p.bias = bias;
      p.activation = activation;
      check(p);
    }
  }
  EXPECT_EQ(checked_, winograd_ ? 8 : 12);
  EXPECT_EQ(not_there_, 0);
}

// Images that are gathered in parts, with a rest at the end.
TEST_P(Conv2dSolver, TakesImagesOfManyParts) {
  check({.channels = 32,
         .height = 61,
         .width = 67,
         .filters = 16,
         .filter_height = 3,
         .filter_width = 3,
         .pad_height = 1,
         .pad_width = 1,
         .bias = true,
         .activation = Activation::relu});
  EXPECT_EQ(checked_, 2);
  EXPECT_EQ(not_there_, 0);
}

TEST_P(Conv2dSolver, TakesHalfPrecisionOrRefuses) {
  Problem p = suitable();
  p.type = f16;
  p.bias = true;
  check(p);
  if (checked_ == 0) {
    EXPECT_EQ(solver_->applicable(hone::Problem(p), *device_), "this solver's type is f32");
  }
  EXPECT_EQ(solver_->id() == operation()->fallback(), checked_ > 0);
}

TEST_P(Conv2dSolver, KeepsToAWorkspaceLimitOrRefuses) {
  for (const std::int64_t limit : {0, 40'000, 1'000'000}) {
    Problem p = suitable();
    p.workspace_limit = limit;
    const hone::Problem problem(p);
    if (const Refusal refusal = solver_->applicable(problem, *device_)) {
      EXPECT_THAT(*refusal, HasSubstr("workspace_limit"));
      continue;
    }
    const SearchSpace space = solver_->search_space(problem, *device_);
    EXPECT_TRUE(space.contains(solver_->default_configuration(problem, *device_)));
    for (int i = 0; i < 8; ++i) {
      const Configuration configuration = *space.sample(random_);
      EXPECT_LE(solver_->workspace(problem, configuration), static_cast<std::uint64_t>(limit)) << configuration.text();
      check(problem, configuration);
    }
  }
}

TEST_P(Conv2dSolver, AnswersAMissingOperandWithAnError) {
  Problem p = suitable();
  p.bias = true;
  const hone::Problem problem(p);
  const auto stream = host_stream();
  const auto invoker = solver_->prepare(problem, solver_->default_configuration(problem, *device_), *device_);
  std::vector<float> some(20'000);
  EXPECT_EQ(invoker->run(*stream, {some.data(), some.data(), some.data()}), make_error_code(Errc::launch_failed));
  EXPECT_EQ(invoker->run(*stream, {nullptr, some.data(), some.data(), some.data()}),
            make_error_code(Errc::launch_failed));
  EXPECT_EQ(invoker->run(*stream, {some.data(), some.data(), nullptr, some.data()}),
            make_error_code(Errc::launch_failed));
}

TEST_P(Conv2dSolver, RunsOneInvokerOnManyThreads) {
  EXPECT_EQ(hone::testing::wrong_on_many_threads(*operation(), hone::Problem(suitable()), *solver_), 0);
}

TEST_P(Conv2dSolver, RefusesAnotherDevice) {
  const hone::testing::OtherDevice other;
  EXPECT_THAT(solver_->applicable(hone::Problem(small()), other).value_or("runs"), HasSubstr("host"));
}

INSTANTIATE_TEST_SUITE_P(Solvers, Conv2dSolver,
                         ::testing::Values("im2col_blocked", "im2col_openblas", "im2col_blis", "im2col_libxsmm",
                                           "onednn_direct", "onednn_winograd", "direct"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace hone::conv2d
