// Every BLAS library that hone loads has the names of this program's own functions below. Hone's solvers must run the
// code of their libraries, and this program must keep seeing nothing but its own.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "kernels/gemm/host/library.hpp"
#include "tests/kernels/gemm_cases.hpp"

namespace {
std::atomic<int> intruders = 0;

std::set<std::string> environment_variables() {
  std::set<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.insert(*variable);
  return variables;
}
const std::set<std::string> at_start = environment_variables();
}  // namespace

// Exported to the dynamic linker like those of a program that is linked to a BLAS library of its own.
#define HONE_INTRUDER(name) \
  extern "C" __attribute__((visibility("default"))) void name() { ++intruders; }
HONE_INTRUDER(cblas_sgemm)
HONE_INTRUDER(sgemm_)
HONE_INTRUDER(xerbla_)
HONE_INTRUDER(blas_memory_alloc)
HONE_INTRUDER(blas_memory_free)
HONE_INTRUDER(exec_blas)
HONE_INTRUDER(bli_gemm_ex)
HONE_INTRUDER(bli_sgemm_ex)
HONE_INTRUDER(bli_init_once)

namespace hone::gemm {
namespace {

using ::testing::HasSubstr;

bool under_sanitizer() {
  return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

TEST(GemmIsolation, SolversNeverReachTheProgramsFunctions) {
  if (under_sanitizer()) GTEST_SKIP() << "sanitizers forbid RTLD_DEEPBIND, which keeps the names apart";
  const auto device = host_device();
  const auto stream = host_stream();
  const Problem p{.m = 40, .n = 50, .k = 60, .transpose_b = true};
  const hone::Problem problem(p);
  const Case c(p);
  int checked = 0;
  for (const auto& solver : operation()->solvers()) {
    if (solver->applicable(problem, *device)) continue;
    const auto invoker = solver->prepare(problem, solver->default_configuration(problem, *device), *device);
    EXPECT_EQ(c.check(*invoker, *stream), "") << solver->id();
    ++checked;
  }
  EXPECT_GE(checked, 2);
  EXPECT_EQ(intruders, 0);
}

// Libraries that set variables change the behaviour of the server's child processes.
TEST(GemmIsolation, TheEnvironmentVariablesStayAsTheyWere) {
  operation();
  const auto now = environment_variables();
  std::vector<std::string> changed;
  std::ranges::set_symmetric_difference(now, at_start, std::back_inserter(changed));
  EXPECT_THAT(changed, ::testing::IsEmpty());
}

TEST(GemmIsolation, TheProgramSeesNoFunctionOfTheLibraries) {
  operation();
  // Names that the libraries export and this program lacks.
  for (const char* name : {"cblas_dgemm", "dgemm_", "openblas_set_num_threads", "bli_dgemm", "sgemv_"}) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
  }
}

TEST(GemmIsolation, EachLibraryAnswersForItself) {
  const auto openblas = host::Library::open({"libopenblas.so.0"});
  const auto blis = host::Library::open({"libblis.so.4"});
  if (!openblas || !blis) GTEST_SKIP() << "OpenBLAS or BLIS is not here";
  const auto file_of = [](void (*function)()) {
    Dl_info info{};
    return dladdr(reinterpret_cast<void*>(function), &info) != 0 ? std::string(info.dli_fname) : "";
  };
  const auto cblas_of_openblas = openblas->function<void()>("cblas_sgemm");
  const auto cblas_of_blis = blis->function<void()>("cblas_sgemm");
  ASSERT_NE(cblas_of_openblas, nullptr);
  ASSERT_NE(cblas_of_blis, nullptr);
  EXPECT_NE(cblas_of_openblas, cblas_of_blis);
  EXPECT_NE(file_of(cblas_of_openblas), file_of(cblas_of_blis));
  EXPECT_THAT(std::string(openblas->function<char*()>("openblas_get_config")()), HasSubstr("OpenBLAS"));
  EXPECT_EQ(blis->function<void()>("openblas_get_config"), nullptr);
  EXPECT_NE(blis->function<const char*()>("bli_info_get_version_str"), nullptr);
  EXPECT_EQ(openblas->function<void()>("bli_sgemm_ex"), nullptr);
}

TEST(GemmIsolation, AMissingLibraryIsNoError) {
  EXPECT_EQ(host::Library::open({"/nowhere/libopenblas.so.0", "libhone_no_such_library.so"}), nullptr);
}

}  // namespace
}  // namespace hone::gemm
