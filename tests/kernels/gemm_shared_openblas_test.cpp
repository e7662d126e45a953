// A program that uses OpenBLAS itself, with threads of its own.
#include <cblas.h>
#include <dlfcn.h>

#include "tests/kernels/gemm_cases.hpp"

namespace hone::gemm {
namespace {

using ::testing::HasSubstr;

TEST(GemmSharedOpenBlas, LeavesTheProgramsThreadCountAlone) {
  if (dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr) {
    GTEST_SKIP() << "sanitizers forbid RTLD_DEEPBIND, which keeps the libraries apart";
  }
  openblas_set_num_threads(2);
  const int before = openblas_get_num_threads();
  const Problem p{.m = 33, .n = 44, .k = 55};
  const hone::Problem problem(p);
  const auto device = host_device();
  const auto stream = host_stream();
  const Case c(p);
  EXPECT_EQ(c.check(*solver("openblas").prepare(problem, {}, *device), *stream), "");
  EXPECT_EQ(openblas_get_num_threads(), before);
  // And the other way round: what hone loaded is a library of its own.
  EXPECT_THAT(operation()->facts().at("openblas"), HasSubstr("OpenBLAS"));
}

}  // namespace
}  // namespace hone::gemm
