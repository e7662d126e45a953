#include "kernels/conv2d/hip/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/error.hpp>

#include "kernels/covering_sample.hpp"

namespace hone::conv2d::hip {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Problem large{.batch = 32,
                        .channels = 256,
                        .height = 56,
                        .width = 56,
                        .filters = 256,
                        .filter_height = 3,
                        .filter_width = 3,
                        .pad_height = 1,
                        .pad_width = 1};

TEST(Conv2dKernel, SourceIsOneTextWithoutOtherHeaders) {
  EXPECT_THAT(std::string(source()), HasSubstr("struct Arguments"));
  EXPECT_THAT(std::string(source()), HasSubstr("conv2d(Arguments p)"));
  EXPECT_THAT(std::string(source()), HasSubstr("float activate(int activation, float x)"));
  EXPECT_THAT(std::string(source()), Not(HasSubstr("#include")));
}

TEST(Conv2dKernel, RefusesWhatItCannotCount) {
  EXPECT_FALSE(refuse(large));
  Problem p = large;
  p.batch = 1 << 12;
  EXPECT_THAT(refuse(p).value_or(""), HasSubstr("operand x of less than 2^31"));
  p = large;
  p.filters = p.channels = 1 << 16;
  p.height = p.width = 3;
  EXPECT_THAT(refuse(p).value_or(""), HasSubstr("operand weights of less than 2^31"));
  p = {.channels = 1, .height = 1 << 20, .width = 1, .filters = 1, .filter_height = 1, .filter_width = 1};
  EXPECT_FALSE(refuse(p));
  p.pad_height = 1 << 26;
  p.stride_height = 1 << 20;
  EXPECT_THAT(refuse(p).value_or(""), HasSubstr("padded height"));
  p = {.channels = 1, .height = 1 << 14, .width = 1 << 14, .filters = 1, .filter_height = 1, .filter_width = 1};
  EXPECT_THAT(refuse(p).value_or(""), HasSubstr("fewer outputs"));
  p = {.channels = 65536,
       .height = 3,
       .width = 3,
       .filters = 65536,
       .filter_height = 3,
       .filter_width = 3,
       .groups = 65536};
  EXPECT_THAT(refuse(p).value_or(""), HasSubstr("groups"));
}

TEST(Conv2dSpace, KeepsToWhatTheDeviceAllows) {
  for (const DeviceLimits& limits : {DeviceLimits{}, DeviceLimits{.wave_size = 32, .local_memory_bytes = 16384}}) {
    int seen = 0;
    search_space(large, limits).for_each([&](const Configuration& configuration) {
      const std::int64_t group = configuration.at("threads_m") * configuration.at("threads_n");
      EXPECT_LE(group, limits.max_work_group);
      EXPECT_EQ(group % limits.wave_size, 0);
      EXPECT_LE(local_memory_bytes(large, configuration), limits.local_memory_bytes);
      EXPECT_LE(estimated_registers(configuration) * group, limits.work_group_registers);
      ++seen;
      return !HasFailure();
    });
    EXPECT_GT(seen, 1000);
  }
}

TEST(Conv2dSpace, CountsLocalMemoryToTheByte) {
  const SearchSpace space = search_space(large, {});
  // Two stages of 16 taps of 128 positions and 64 filters with 4 behind each, and the table of 128 positions.
  EXPECT_EQ(local_memory_bytes(large, space.configuration({16, 16, 4, 8, 16, 1, 2, 4, 4})),
            2 * 16 * (64 + 4 + 128 + 4) * 4 + 128 * 12);
  EXPECT_EQ(local_memory_bytes(large, space.configuration({16, 16, 4, 8, 16, 0, 1, 0, 4})), 16 * 128 * 4 + 128 * 12);
}

TEST(Conv2dSpace, FitsTilesToTheProblem) {
  Problem p = large;
  p.filters = 8;
  p.batch = 1;
  p.height = p.width = 3;  // 9 positions
  search_space(p, {}).for_each([](const Configuration& configuration) {
    EXPECT_EQ(configuration.at("threads_m") * configuration.at("register_m"), 8);
    EXPECT_LE(configuration.at("threads_n") * configuration.at("register_n"), 16);
    return !HasFailure();
  });
}

TEST(Conv2dDefault, IsInsideTheSpaceOfEveryProblemAndDevice) {
  for (const DeviceLimits& limits :
       {DeviceLimits{}, DeviceLimits{.wave_size = 32}, DeviceLimits{.max_work_group = 256, .local_memory_bytes = 8192},
        DeviceLimits{.work_group_registers = 8192}}) {
    for (const DataType type : {f32, f16}) {
      for (const std::int64_t filters : {1, 7, 64, 2048}) {
        for (const std::int64_t size : {3, 7, 33, 224}) {
          Problem p = large;
          p.type = type;
          p.filters = filters;
          p.height = p.width = size;
          p.batch = 1;
          ASSERT_TRUE(search_space(p, limits).contains(default_configuration(p, limits))) << hone::Problem(p).text();
        }
      }
    }
  }
  EXPECT_THROW(default_configuration(large, {.max_work_group = 32}), Error);
}

TEST(Conv2dKernel, DefinesTheProblemsClassAndTheConfiguration) {
  Problem p = large;
  p.type = f16;
  p.layout = ImageLayout::nhwc;
  p.bias = true;
  p.activation = Activation::gelu;
  const auto values = definitions(p, search_space(p, {}).configuration({8, 32, 4, 2, 32, 0, 1, 1, 8}));
  for (const char* expected :
       {"-DELEMENT=_Float16", "-DNHWC=1", "-DBIAS=1", "-DACTIVATION=2", "-DFILTER_HEIGHT=3", "-DFILTER_WIDTH=3",
        "-DTHREADS_M=8", "-DREGISTER_N=2", "-DTILE_K=32", "-DLOCAL_WEIGHTS=0", "-DSTAGES=1", "-DPADDING=1"}) {
    EXPECT_THAT(values, Contains(expected));
  }
}

TEST(Conv2dLaunch, CoversFiltersAndPositionsWithTiles) {
  Problem p = large;
  p.groups = 4;
  p.filters = 400;  // 100 a group
  const Configuration configuration = search_space(p, {}).configuration({16, 16, 4, 8, 16, 1, 1, 0, 4});
  EXPECT_EQ(tiled_launch(p, configuration),
            (KernelLaunch{.kernel = "conv2d", .groups = {2 * (32 * 56 * 56 / 128), 1, 4}, .work_group = 256}));
  p = {.channels = 1, .height = 3, .width = 100, .filters = 1, .filter_height = 3, .filter_width = 3};
  EXPECT_EQ(direct_launch(p), (KernelLaunch{.kernel = "conv2d_direct", .groups = {1, 1, 1}, .work_group = 256}));
}

TEST(Conv2dSample, HasAtLeast200ConfigurationsAndMissesNoPossiblePair) {
  const auto sample = covering_sample(search_space(large, {}), 200);
  EXPECT_GE(sample.configurations.size(), 200U);
  for (const ValuePair& pair : sample.impossible) {
    SearchSpace part = search_space(large, {});
    const auto fix = [&](std::size_t parameter, std::int64_t value) {
      part.rule({part.parameters()[parameter].name},
                [value](std::span<const std::int64_t> v) { return v[0] == value; });
    };
    fix(pair.first_parameter, pair.first_value);
    fix(pair.second_parameter, pair.second_value);
    EXPECT_EQ(part.count(1), 0U) << pair.first_parameter << ' ' << pair.first_value << ' ' << pair.second_parameter;
  }
}

}  // namespace
}  // namespace hone::conv2d::hip
