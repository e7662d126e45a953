#include "kernels/hip/row_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/layernorm.hpp>
#include <hone/softmax.hpp>

#include "kernels/covering_sample.hpp"
#include "kernels/layernorm/hip/kernel.hpp"
#include "kernels/softmax/hip/kernel.hpp"

namespace hone::hip {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RowLayout rows_of(std::int64_t rows, std::int64_t columns) { return row_layout(rows, columns, 0, 0); }

DeviceLimits narrow() {
  DeviceLimits limits;
  limits.wave_size = 32;
  return limits;
}

TEST(RowKernel, EveryShapeHasASpaceWithItsDefaultInside) {
  for (const DeviceLimits& limits : {DeviceLimits(), narrow()}) {
    for (const DataType type : {f32, f16}) {
      for (const std::int64_t rows : {1, 2, 7, 1000}) {
        for (const std::int64_t columns : {1, 3, 16, 63, 65, 384, 5000, 1 << 20}) {
          const RowLayout layout = rows_of(rows, columns);
          const SearchSpace space = row_search_space(layout, type, limits);
          const Configuration configuration = default_row_configuration(layout, type, limits);
          EXPECT_TRUE(space.contains(configuration)) << rows << " x " << columns << ": " << configuration.text();
          space.for_each([&](const Configuration& each) {
            const std::int64_t group = each.at("row_items") * each.at("rows");
            EXPECT_LE(group, limits.max_work_group);
            EXPECT_EQ(group % limits.wave_size, 0);
            return true;
          });
        }
      }
    }
  }
}

TEST(RowKernel, LargeShapesHaveManyConfigurationsAndSmallOnesFewer) {
  const auto count = [](std::int64_t rows, std::int64_t columns) {
    return row_search_space(rows_of(rows, columns), f16, {}).count();
  };
  EXPECT_GE(count(4096, 1 << 16), 200u);
  EXPECT_LT(count(1, 40), 30u);
}

TEST(RowKernel, LaunchesAWorkGroupForEachOfItsRows) {
  const RowLayout layout = rows_of(9, 5000);
  const Configuration configuration = row_search_space(layout, f32, {}).configuration({128, 4, 2, 1});
  EXPECT_EQ(row_launch("softmax", layout, configuration),
            (KernelLaunch{.kernel = "softmax", .groups = {3, 1, 1}, .work_group = 512}));
  EXPECT_EQ(precompiled_row_launch("softmax", layout),
            (KernelLaunch{.kernel = "softmax", .groups = {9, 1, 1}, .work_group = 256}));
  EXPECT_EQ(row_local_memory_bytes(configuration), 2048);
  EXPECT_THAT(row_definitions(f16, configuration),
              ElementsAre("-DELEMENT=_Float16", "-DROW_ITEMS=128", "-DROWS=4", "-DVECTOR=2", "-DUNROLL=1"));
}

TEST(RowKernel, RefusesWhatItCannotCount) {
  EXPECT_FALSE(refuse_rows(rows_of(1 << 23, 1 << 30)));
  EXPECT_THAT(refuse_rows(rows_of((1 << 23) + 1, 1)).value_or(""), HasSubstr("rows"));
  EXPECT_THAT(refuse_rows(rows_of(1, (std::int64_t{1} << 30) + 1)).value_or(""), HasSubstr("columns"));
}

TEST(RowKernel, AMissingOperandIsNoArgument) {
  float x = 0, y = 0, gain = 0, shift = 0;
  const softmax::Problem soft{.rows = 1, .columns = 1};
  EXPECT_TRUE(softmax::hip::arguments(soft, rows_of(1, 1), {&x, &y}));
  EXPECT_FALSE(softmax::hip::arguments(soft, rows_of(1, 1), {&x}));
  layernorm::Problem norm{.rows = 1, .columns = 1};
  EXPECT_TRUE(layernorm::hip::arguments(norm, rows_of(1, 1), {&x, &y, &gain, &shift}));
  EXPECT_FALSE(layernorm::hip::arguments(norm, rows_of(1, 1), {&x, &y, &gain}));
  norm.shift = false;
  EXPECT_TRUE(layernorm::hip::arguments(norm, rows_of(1, 1), {&x, &y, &gain}));
}

}  // namespace
}  // namespace hone::hip
