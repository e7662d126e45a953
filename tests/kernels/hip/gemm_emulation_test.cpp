#include <gtest/gtest.h>

#include <cmath>
#include <hone/gemm.hpp>
#include <random>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/gemm/hip/kernel.hpp"
#include "tests/kernels/hip/gemm_instance.hpp"
#include "tests/support/work_item_emulator.hpp"

namespace hone::gemm::hip {
namespace {

// Operands between -1 and 1 that the type can hold, exactly as long as they must be.
template <class Element>
std::vector<Element> random_elements(std::size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Element> values(count);
  for (Element& value : values) value = static_cast<Element>(uniform(random));
  return values;
}

template <class Element>
std::vector<float> as_floats(const std::vector<Element>& values) {
  return {values.begin(), values.end()};
}

void run(const Instance& instance, const Problem& p, const Configuration& configuration,
         const hone::Arguments& operands, std::vector<float>& parts) {
  const Arguments argument = arguments(p, configuration, operands, parts.data());
  for (const KernelLaunch& launch : launches(p, configuration)) {
    const auto kernel = launch.kernel == "gemm" ? instance.gemm : instance.gemm_join;
    hone::testing::WorkItems::run(launch.groups, launch.work_group, [&] { kernel(argument); });
  }
}

template <class Element>
void check(const Instance& instance, const Problem& p, const Configuration& configuration) {
  Problem reference = p;
  reference.type = f32;
  const auto operands = operation()->operands(hone::Problem(reference));
  std::mt19937 random(1);
  const auto a = random_elements<Element>(operands[0].count, random);
  const auto b = random_elements<Element>(operands[1].count, random);
  auto c = random_elements<Element>(operands[2].count, random);
  const auto bias = random_elements<Element>(operands[3].count, random);
  std::vector<float> fa = as_floats(a), fb = as_floats(b), expected = as_floats(c), fbias = as_floats(bias);
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(fa)), std::as_writable_bytes(std::span(fb)),
                                        std::as_writable_bytes(std::span(expected)),
                                        std::as_writable_bytes(std::span(fbias))};
  operation()->reference(hone::Problem(reference), spans);

  // Parts that nobody writes would show as what is no number.
  std::vector<float> parts(workspace(p, configuration) / sizeof(float), std::nanf(""));
  run(instance, p, configuration, {a.data(), b.data(), c.data(), bias.data()}, parts);
  const ErrorBound bound = operation()->error_bound(hone::Problem(reference));
  const double rounding = p.type == f16 ? 0x1p-10 : 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double difference = std::abs(static_cast<double>(static_cast<float>(c[i])) - expected[i]);
    ASSERT_LE(difference, bound.absolute + (bound.relative + rounding) * std::abs(expected[i]) + rounding * 0x1p-10)
        << i << " of " << hone::Problem(p).text() << " by " << configuration.text();
  }
}

TEST(GemmEmulation, EveryConfigurationEqualsTheReferenceOverOddSizes) {
  ASSERT_GE(instances().size(), 100U);
  const Problem shapes[] = {{.m = 37, .n = 41, .k = 29, .alpha = 0.5F, .beta = 2},
                            {.m = 1, .n = 130, .k = 70},
                            {.m = 65, .n = 1, .k = 1, .beta = 1},
                            {.m = 5,
                             .n = 19,
                             .k = 33,
                             .batch = 2,
                             .lda = 40,
                             .ldb = 43,
                             .ldc = 21,
                             .stride_a = 1400,
                             .stride_b = 1500,
                             .stride_c = 111}};
  for (const Instance& instance : instances()) {
    const auto compiled = hone::Problem::parse(problem_type<Problem>(), instance.problem).as<Problem>();
    const auto configuration = search_space(compiled, {}).parse(instance.configuration);
    ASSERT_TRUE(configuration) << instance.configuration;
    for (Problem p : shapes) {
      p.type = compiled.type;
      p.transpose_a = compiled.transpose_a;
      p.transpose_b = compiled.transpose_b;
      p.bias = compiled.bias;
      p.activation = compiled.activation;
      p.type == f16 ? check<Half>(instance, p, *configuration) : check<float>(instance, p, *configuration);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GemmEmulation, SeesABarrierThatSomeDoNotReach) {
  EXPECT_THROW(hone::testing::WorkItems::run({1, 1, 1}, 4,
                                             [] {
                                               if (threadIdx.x != 2) __syncthreads();
                                             }),
               std::logic_error);
}

}  // namespace
}  // namespace hone::gemm::hip
