#include <hone/error.hpp>
#include <set>

#include "tests/kernels/gemm_cases.hpp"

namespace hone::gemm {
namespace {

const Problem problems[] = {
    {.m = 37, .n = 100, .k = 90, .bias = true, .activation = Activation::gelu},
    {.m = 5, .n = 70, .k = 130, .transpose_b = true, .alpha = 0.5F, .beta = 1},
    {.m = 20, .n = 33, .k = 40, .transpose_a = true, .beta = -2, .batch = 2},
    {.m = 1, .n = 300, .k = 50},
};

TEST(GemmBlocked, HasAHundredConfigurationsForAnOrdinaryProblem) {
  const auto device = host_device();
  const Solver& blocked = solver("blocked");
  EXPECT_GE(blocked.search_space(hone::Problem(Problem{.m = 64, .n = 384, .k = 384}), *device).count(1000), 100U);
}

TEST(GemmBlocked, ComputesTheSameWithEveryConfiguration) {
  const auto device = host_device();
  const auto stream = host_stream();
  const Solver& blocked = solver("blocked");
  std::mt19937_64 random(7);
  for (const Problem& p : problems) {
    const hone::Problem problem(p);
    const Case c(p);
    const SearchSpace space = blocked.search_space(problem, *device);
    std::set<std::string> tried;
    for (int i = 0; i < 200; ++i) {
      const auto configuration = space.sample(random);
      ASSERT_TRUE(configuration);
      if (!tried.insert(configuration->text()).second) continue;
      ASSERT_EQ(c.check(*blocked.prepare(problem, *configuration, *device), *stream), "")
          << problem.text() << ' ' << configuration->text();
    }
    EXPECT_GE(tried.size(), 50U);
  }
}

TEST(GemmBlocked, DefaultIsInsideTheSpaceWhateverTheWorkspace) {
  const auto device = host_device();
  const Solver& blocked = solver("blocked");
  int refused = 0;
  for (const std::int64_t size : {1, 3, 15, 64, 1000, 5000}) {
    for (const bool transpose_b : {false, true}) {
      for (const std::int64_t limit : {-1, 0, 1024, 4096, 1 << 20}) {
        const hone::Problem problem(
            Problem{.m = size, .n = size + 1, .k = size, .transpose_b = transpose_b, .workspace_limit = limit});
        if (blocked.applicable(problem, *device)) {
          ++refused;
          continue;
        }
        const Configuration configuration = blocked.default_configuration(problem, *device);
        EXPECT_TRUE(blocked.search_space(problem, *device).contains(configuration)) << problem.text();
        if (limit >= 0) {
          EXPECT_LE(blocked.workspace(problem, configuration), static_cast<std::size_t>(limit));
        }
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace hone::gemm
