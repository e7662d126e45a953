// The GPU kernels along rows, work-item by work-item, against the references.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/hip/row_kernel.hpp"
#include "kernels/layernorm/hip/kernel.hpp"
#include "kernels/layernorm/reference.hpp"
#include "kernels/softmax/hip/kernel.hpp"
#include "kernels/softmax/reference.hpp"
#include "tests/kernels/hip/row_instance.hpp"
#include "tests/support/work_item_emulator.hpp"

namespace hone::hip {
namespace {

constexpr float untouched = 77;

template <class Element>
std::vector<Element> random_elements(std::size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Element> values(count);
  for (Element& value : values) value = static_cast<Element>(uniform(random));
  return values;
}

template <class Element>
std::byte* bytes(std::vector<Element>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

Configuration configuration_of(const RowInstance& instance) {
  const auto space = row_search_space(row_layout(4096, 1 << 16, 0, 0), instance.half ? f16 : f32, {});
  return space.parse(instance.configuration).value();
}

// Rows and what lies between them.
template <class Element>
void expect_equal(const std::vector<Element>& result, const std::vector<Element>& expected, const ErrorBound& bound,
                  const std::string& what) {
  const double rounding = sizeof(Element) == 2 ? 0x1p-10 : 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double wanted = static_cast<float>(expected[i]);
    ASSERT_LE(std::abs(static_cast<float>(result[i]) - wanted),
              bound.absolute + (bound.relative + rounding) * std::abs(wanted))
        << i << " of " << what;
  }
}

template <class Element>
void check_softmax(const RowInstance& instance, softmax::Problem p) {
  p.type = instance.half ? f16 : f32;
  const RowLayout layout = softmax::layout_of(p);
  std::mt19937 random(1);
  auto x = random_elements<Element>(layout.extent_x, random);
  if (p.columns > 3 && p.scale > 0) x[2] = static_cast<Element>(-INFINITY);  // masked
  std::vector<Element> y(layout.extent_y, static_cast<Element>(untouched));
  std::vector<Element> expected = y;
  softmax::reference(p, bytes(x), bytes(expected));
  const auto argument = softmax::hip::arguments(p, layout, {x.data(), y.data()});
  const KernelLaunch launch = row_launch("softmax", layout, configuration_of(instance));
  hone::testing::WorkItems::run(launch.groups, launch.work_group, [&] { instance.softmax(*argument); });
  expect_equal(y, expected, softmax::error_bound(p), hone::Problem(p).text() + " by " + instance.configuration);
}

template <class Element>
void check_layernorm(const RowInstance& instance, layernorm::Problem p) {
  p.type = instance.half ? f16 : f32;
  const RowLayout layout = layernorm::layout_of(p);
  std::mt19937 random(1);
  auto x = random_elements<Element>(layout.extent_x, random);
  auto gain = random_elements<Element>(p.gain ? static_cast<std::size_t>(p.columns) : 0, random);
  auto shift = random_elements<Element>(p.shift ? static_cast<std::size_t>(p.columns) : 0, random);
  std::vector<Element> y(layout.extent_y, static_cast<Element>(untouched));
  std::vector<Element> expected = y;
  layernorm::reference(p, bytes(x), bytes(expected), p.gain ? bytes(gain) : nullptr, p.shift ? bytes(shift) : nullptr);
  const auto argument = layernorm::hip::arguments(p, layout, {x.data(), y.data(), gain.data(), shift.data()});
  const KernelLaunch launch = row_launch("layernorm", layout, configuration_of(instance));
  hone::testing::WorkItems::run(launch.groups, launch.work_group, [&] { instance.layernorm(*argument); });
  expect_equal(y, expected, layernorm::error_bound(p), hone::Problem(p).text() + " by " + instance.configuration);
}

TEST(RowEmulation, SoftmaxEqualsTheReferenceOverOddSizes) {
  ASSERT_GE(row_instances().size(), 100u);
  const softmax::Problem shapes[] = {{.rows = 5, .columns = 37},
                                     {.rows = 1, .columns = 1, .logarithm = true},
                                     {.rows = 3, .columns = 1029, .scale = -2.5F},
                                     {.rows = 9, .columns = 64, .logarithm = false, .stride_x = 70, .stride_y = 66}};
  for (const RowInstance& instance : row_instances()) {
    for (const softmax::Problem& p : shapes) {
      instance.half ? check_softmax<Half>(instance, p) : check_softmax<float>(instance, p);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RowEmulation, LayernormEqualsTheReferenceOverOddSizes) {
  const layernorm::Problem shapes[] = {
      {.rows = 5, .columns = 37},
      {.rows = 1, .columns = 3, .gain = false},
      {.rows = 3, .columns = 1029, .root_mean_square = true, .shift = false},
      {.rows = 9, .columns = 64, .gain = false, .shift = false, .stride_x = 70, .stride_y = 66}};
  for (const RowInstance& instance : row_instances()) {
    for (const layernorm::Problem& p : shapes) {
      instance.half ? check_layernorm<Half>(instance, p) : check_layernorm<float>(instance, p);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hone::hip
