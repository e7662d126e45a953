#include <gtest/gtest.h>

#include <cmath>
#include <hone/conv2d.hpp>
#include <random>
#include <vector>

#include "kernels/conv2d/hip/kernel.hpp"
#include "kernels/element.hpp"
#include "tests/kernels/hip/conv2d_instance.hpp"
#include "tests/support/work_item_emulator.hpp"

namespace hone::conv2d::hip {
namespace direct_f32_text {
#define ELEMENT float
#include "kernels/conv2d/hip/direct.hip.hpp"
#undef ELEMENT
}  // namespace direct_f32_text
namespace direct_f16_text {
#define ELEMENT _Float16
#include "kernels/conv2d/hip/direct.hip.hpp"
#undef ELEMENT
}  // namespace direct_f16_text
namespace {

// Operands between -1 and 1 that the type can hold, exactly as long as they must be, and the reference's result.
template <class Element>
struct Case {
  hone::Problem problem;
  std::vector<Element> x, weights, y, bias, expected;

  explicit Case(const Problem& p) : problem(p) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto operands = operation()->operands(problem);
    std::vector<Element>* const values[] = {&x, &weights, &y, &bias};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      values[i]->resize(operands[i].count);
      for (Element& value : *values[i]) value = static_cast<Element>(uniform(random));
    }
    expected = y;
    const std::span<std::byte> spans[] = {
        std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(weights)),
        std::as_writable_bytes(std::span(expected)), std::as_writable_bytes(std::span(bias))};
    operation()->reference(problem, spans);
    // What nobody writes shows as what is no number.
    for (Element& value : y) value = static_cast<Element>(std::nanf(""));
  }

  void run(const KernelLaunch& launch, void (*kernel)(Arguments)) {
    const Arguments argument =
        arguments(problem.as<Problem>(), {x.data(), weights.data(), y.data(), bias.empty() ? nullptr : bias.data()});
    hone::testing::WorkItems::run(launch.groups, launch.work_group, [&] { kernel(argument); });
  }

  void compare(const std::string& by) const {
    const ErrorBound bound = operation()->error_bound(problem);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double difference = std::abs(static_cast<double>(y[i]) - static_cast<double>(expected[i]));
      ASSERT_LE(difference, bound.absolute + bound.relative * std::abs(static_cast<double>(expected[i])))
          << i << " of " << problem.text() << " by " << by;
    }
  }
};

// Odd sizes: rests of tiles in every direction, padding, strides, dilation, groups, images of one position.
std::vector<Problem> shapes() {
  return {{.batch = 2, .channels = 5, .height = 9, .width = 11, .filters = 7, .pad_height = 1, .pad_width = 2},
          {.channels = 3, .height = 12, .width = 10, .filters = 9, .stride_height = 2, .stride_width = 3},
          {.batch = 3,
           .channels = 6,
           .height = 6,
           .width = 9,
           .filters = 4,
           .pad_height = 1,
           .dilation_height = 2,
           .dilation_width = 2,
           .groups = 2},
          {.channels = 4, .height = 3, .width = 5, .filters = 4, .groups = 4},
          {.channels = 37, .height = 3, .width = 5, .filters = 17}};
}

TEST(Conv2dEmulation, EveryConfigurationEqualsTheReferenceOverOddSizes) {
  ASSERT_GE(instances().size(), 100U);
  for (const Instance& instance : instances()) {
    const auto compiled = hone::Problem::parse(problem_type<Problem>(), instance.problem).as<Problem>();
    const auto configuration = search_space(compiled, {}).parse(instance.configuration);
    ASSERT_TRUE(configuration) << instance.configuration;
    for (Problem p : shapes()) {
      p.filter_height = compiled.filter_height;
      p.filter_width = compiled.filter_width;
      p.type = compiled.type;
      p.layout = compiled.layout;
      p.bias = compiled.bias;
      p.activation = compiled.activation;
      if (operation()->validate(hone::Problem(p))) continue;
      const auto check = [&](auto with) {
        with.run(tiled_launch(p, *configuration), instance.conv2d);
        with.compare(configuration->text());
      };
      p.type == f16 ? check(Case<Half>(p)) : check(Case<float>(p));
      if (HasFatalFailure()) return;
    }
  }
}

// The kernel that is compiled ahead, over what a problem can be.
TEST(Conv2dDirect, EqualsTheReference) {
  int checked = 0;
  for (Problem p : shapes()) {
    for (const auto& [height, width] : {std::pair(1, 1), std::pair(3, 3), std::pair(2, 5)}) {
      for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
        for (const DataType type : {f32, f16}) {
          p.filter_height = height;
          p.filter_width = width;
          p.layout = layout;
          p.type = type;
          p.bias = checked % 2 != 0;
          p.activation = static_cast<Activation>(checked % 3);
          if (operation()->validate(hone::Problem(p))) continue;
          ++checked;
          if (type == f16) {
            Case<Half> with(p);
            with.run(direct_launch(p), &direct_f16_text::conv2d_direct);
            with.compare("direct");
          } else {
            Case<float> with(p);
            with.run(direct_launch(p), &direct_f32_text::conv2d_direct);
            with.compare("direct");
          }
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(checked, 48);
}

}  // namespace
}  // namespace hone::conv2d::hip
