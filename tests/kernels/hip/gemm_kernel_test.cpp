#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <hone/error.hpp>
#include <set>

#include "kernels/covering_sample.hpp"
#include "kernels/gemm/hip/kernel.hpp"

namespace hone::gemm::hip {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Problem large{.m = 4096, .n = 4096, .k = 4096};

// A configuration of the large problem with some of the values changed.
Configuration with(const std::map<std::string, std::int64_t>& changes, const Problem& p = large) {
  const SearchSpace space = search_space(p, {});
  const Configuration base = default_configuration(p, {});
  std::vector<std::int64_t> values;
  for (const Parameter& parameter : space.parameters()) {
    const auto change = changes.find(parameter.name);
    values.push_back(change != changes.end() ? change->second : base.at(parameter.name));
  }
  return space.configuration(values);
}

TEST(GemmKernel, SourceIsOneTextWithoutOtherHeaders) {
  EXPECT_THAT(std::string(source()), HasSubstr("struct Arguments"));
  EXPECT_THAT(std::string(source()), HasSubstr("void __launch_bounds__(work_group) gemm(Arguments p)"));
  EXPECT_THAT(std::string(source()), Not(HasSubstr("#include")));
  EXPECT_THAT(std::string(source()), Not(HasSubstr("#pragma once")));
}

TEST(GemmSpace, KeepsToWhatTheDeviceAllows) {
  const DeviceLimits limits;
  int seen = 0;
  search_space(large, limits).for_each([&](const Configuration& configuration) {
    const std::int64_t group = configuration.at("threads_m") * configuration.at("threads_n");
    EXPECT_LE(group, limits.max_work_group);
    EXPECT_EQ(group % limits.wave_size, 0);
    EXPECT_LE(local_memory_bytes(large, configuration), limits.local_memory_bytes);
    EXPECT_LE(estimated_registers(configuration) * group, limits.work_group_registers);
    return ++seen < 20000 && !HasFailure();
  });
  EXPECT_EQ(seen, 20000);
}

TEST(GemmSpace, ShrinksWithTheLimits) {
  const std::uint64_t all = search_space(large, {}).count();
  EXPECT_LT(search_space(large, {.max_work_group = 256}).count(), all);
  EXPECT_LT(search_space(large, {.local_memory_bytes = 16384}).count(), all);
  EXPECT_LT(search_space(large, {.work_group_registers = 32768}).count(), all);
  EXPECT_GT(search_space(large, {.work_group_registers = 131072}).count(), all);
}

TEST(GemmSpace, CountsLocalMemoryToTheByte) {
  const Configuration both = with({{"threads_m", 16},
                                   {"threads_n", 16},
                                   {"register_m", 4},
                                   {"register_n", 8},
                                   {"tile_k", 16},
                                   {"stages", 2},
                                   {"padding", 4},
                                   {"local_a", 1},
                                   {"local_b", 1}});
  EXPECT_EQ(local_memory_bytes(large, both), 2 * 16 * (64 + 4 + 128 + 4) * 4);
  Problem half = large;
  half.type = f16;
  EXPECT_EQ(local_memory_bytes(half, both), 2 * 16 * (64 + 4 + 128 + 4) * 2);
  EXPECT_EQ(
      local_memory_bytes(
          large,
          with({{"register_m", 4}, {"local_a", 0}, {"local_b", 1}, {"register_n", 4}, {"stages", 1}, {"padding", 0}})),
      16 * 64 * 4);
}

TEST(GemmSpace, LeavesOutWhatDoesTheSame) {
  search_space(large, {}).for_each([seen = 0](const Configuration& configuration) mutable {
    if (configuration.at("local_a") == 0 && configuration.at("local_b") == 0) {
      EXPECT_EQ(configuration.at("stages"), 1);
      EXPECT_EQ(configuration.at("padding"), 0);
      EXPECT_EQ(configuration.at("vector"), 1);
    }
    return ++seen < 20000 && !HasFailure();
  });
}

TEST(GemmSpace, FitsTilesAndPartsToTheProblem) {
  const Problem small{.m = 8, .n = 100, .k = 64};
  search_space(small, {}).for_each([](const Configuration& configuration) {
    EXPECT_EQ(configuration.at("threads_m") * configuration.at("register_m"), 8);
    EXPECT_LT(configuration.at("threads_n") * configuration.at("register_n"), 200);
    EXPECT_LE(configuration.at("split_k"), 8);
    return !HasFailure();
  });
  const Problem limited{.m = 100, .n = 100, .k = 4096, .workspace_limit = 100 * 100 * 4 * 4};
  std::int64_t most = 0;
  search_space(limited, {}).for_each([&](const Configuration& configuration) {
    most = std::max(most, configuration.at("split_k"));
    EXPECT_LE(workspace(limited, configuration), static_cast<std::size_t>(limited.workspace_limit));
    return !HasFailure();
  });
  EXPECT_EQ(most, 4);
}

TEST(GemmDefault, IsInsideTheSpaceOfEveryProblemAndDevice) {
  for (const DeviceLimits& limits :
       {DeviceLimits{}, DeviceLimits{.wave_size = 32}, DeviceLimits{.max_work_group = 256, .local_memory_bytes = 8192},
        DeviceLimits{.local_memory_bytes = 0}, DeviceLimits{.work_group_registers = 4096}}) {
    for (const DataType type : {f32, f16}) {
      for (const std::int64_t m : {1, 7, 9, 64, 1000, 20000}) {
        for (const std::int64_t n : {1, 17, 300, 8192}) {
          for (const std::int64_t k : {1, 50, 5000}) {
            for (const bool transpose : {false, true}) {
              const Problem p{
                  .m = m, .n = n, .k = k, .type = type, .transpose_a = transpose, .workspace_limit = 100000};
              ASSERT_TRUE(search_space(p, limits).contains(default_configuration(p, limits)))
                  << hone::Problem(p).text();
            }
          }
        }
      }
    }
  }
  EXPECT_THROW(default_configuration(large, {.max_work_group = 32}), Error);
}

TEST(GemmDefault, SplitsLongProductsOfFewTiles) {
  EXPECT_GT(default_configuration({.m = 32, .n = 32, .k = 16384}, {}).at("split_k"), 1);
  EXPECT_EQ(default_configuration(large, {}).at("split_k"), 1);
}

TEST(GemmKernel, DefinesTheProblemsClassAndTheConfiguration) {
  Problem p = large;
  p.type = f16;
  p.transpose_b = true;
  p.bias = true;
  p.activation = Activation::gelu;
  const auto values = definitions(p, with({{"split_k", 4}, {"tile_k", 32}, {"register_m", 2}, {"register_n", 2}}, p));
  for (const char* expected : {"-DELEMENT=_Float16", "-DTRANSPOSE_A=0", "-DTRANSPOSE_B=1", "-DBIAS=1", "-DACTIVATION=2",
                               "-DSPLIT=1", "-DTILE_K=32", "-DREGISTER_M=2"}) {
    EXPECT_THAT(values, Contains(expected));
  }
  // Neither sizes nor the number of parts need another code object.
  Problem other = p;
  other.m = 333;
  EXPECT_EQ(definitions(other, with({{"split_k", 8}, {"tile_k", 32}, {"register_m", 2}, {"register_n", 2}}, p)),
            values);
}

TEST(GemmLaunch, CoversCWithTilesAndJoinsParts) {
  const Problem p{.m = 130, .n = 257, .k = 1000, .batch = 3};
  const auto tile = std::map<std::string, std::int64_t>{
      {"threads_m", 16}, {"threads_n", 16}, {"register_m", 4}, {"register_n", 4}, {"split_k", 1}};
  EXPECT_EQ(launches(p, with(tile)), (std::vector<KernelLaunch>{{"gemm", {3 * 5, 1, 3}, 256}}));
  EXPECT_EQ(workspace(p, with(tile)), 0U);
  auto split = tile;
  split["split_k"] = 4;
  EXPECT_EQ(launches(p, with(split)),
            (std::vector<KernelLaunch>{{"gemm", {3 * 5, 1, 12}, 256}, {"gemm_join", {131, 1, 3}, 256}}));
  EXPECT_EQ(workspace(p, with(split)), 4U * 3 * 130 * 257 * 4);
}

TEST(GemmKernel, RefusesWhatItsCountersCannotHold) {
  EXPECT_EQ(refuse(large), std::nullopt);
  EXPECT_THAT(refuse({.m = 1, .n = 1, .k = std::int64_t{1} << 31}).value_or(""), HasSubstr("field k"));
  EXPECT_THAT(refuse({.m = 1, .n = 1, .k = 1, .batch = 70000}).value_or(""), HasSubstr("field batch"));
  EXPECT_THAT(refuse({.m = 1 << 20, .n = 1 << 20, .k = 1}).value_or(""), HasSubstr("m and n"));
}

// The evidence that compiling the sample stands on: every pair that the rules allow is in it.
TEST(GemmSample, CoversAllPairsOfValues) {
  const SearchSpace space = search_space(large, {});
  const CoveringSample sample = covering_sample(space, 200);
  EXPECT_GE(sample.configurations.size(), 200U);
  EXPECT_LT(sample.configurations.size(), 1000U);
  for (const ValuePair& pair : sample.impossible) {
    SearchSpace part = space;
    const auto fix = [&](std::size_t parameter, std::int64_t value) {
      part.rule({space.parameters()[parameter].name},
                [value](std::span<const std::int64_t> v) { return v[0] == value; });
    };
    fix(pair.first_parameter, pair.first_value);
    fix(pair.second_parameter, pair.second_value);
    EXPECT_EQ(part.count(1), 0U) << pair.first_parameter << ' ' << pair.first_value << ' ' << pair.second_parameter;
  }
  std::set<ValuePair> missing(sample.impossible.begin(), sample.impossible.end());
  std::size_t possible = 0;
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    for (std::size_t j = i; j < space.parameters().size(); ++j) {
      for (const std::int64_t first : space.parameters()[i].values) {
        for (const std::int64_t second : space.parameters()[j].values) {
          if ((i == j && first != second) || missing.count({i, first, j, second}) != 0) continue;
          ++possible;
          EXPECT_TRUE(std::any_of(sample.configurations.begin(), sample.configurations.end(),
                                  [&](const auto& c) { return c.values()[i] == first && c.values()[j] == second; }))
              << space.parameters()[i].name << '=' << first << ' ' << space.parameters()[j].name << '=' << second;
        }
      }
    }
  }
  EXPECT_GT(possible, 500U);
}

}  // namespace
}  // namespace hone::gemm::hip
