#include "workers/compile/child_compiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <hone/error.hpp>
#include <thread>

#include "tests/support/child_processes.hpp"
#include "tests/support/temporary_directory.hpp"

namespace hone::workers {
namespace {

using namespace std::chrono_literals;
using test::children_of;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

ChildCompilerOptions options() {
  ChildCompilerOptions result{.program = {COMPILER_PROGRAM}, .version = "tests"};
  if (sanitized) result.memory_bytes = 0;  // a sanitizer's shadow memory exceeds any limit
  return result;
}

CompileRequest request(std::string text) {
  return {.name = "gemm", .source = std::move(text), .options = {"-DA=1", "-DB=2"}, .architecture = "gfx90a"};
}

std::string compile(Compiler& compiler, const CompileRequest& request) {
  try {
    const Code code = compiler.compile(request);
    return {reinterpret_cast<const char*>(code.data()), code.size()};
  } catch (const std::exception& error) {
    return std::string("failed: ") + error.what();
  }
}

TEST(ChildCompiler, CompilesInOneProcessThatItKeeps) {
  ChildCompiler compiler(options());
  const std::string first = compile(compiler, request("text"));
  EXPECT_THAT(first, StartsWith("gemm|gfx90a|text|-DA=1|-DB=2|"));
  EXPECT_EQ(compile(compiler, request("text")), first);
  const std::string long_text(1 << 20, 'x');
  EXPECT_THAT(compile(compiler, request(long_text)), HasSubstr(long_text));
  EXPECT_THAT(children_of(getpid()), SizeIs(1));
}

TEST(ChildCompiler, EndsItsProcesses) {
  { EXPECT_THAT(compile(*std::make_unique<ChildCompiler>(options()), request("text")), StartsWith("gemm")); }
  EXPECT_THAT(children_of(getpid()), IsEmpty());
}

// Whatever happens to the process is the failure of one request.
TEST(ChildCompiler, AFailureIsOneRequests) {
  ChildCompiler compiler(options());
  const std::pair<const char*, const char*> rows[] = {
      {"crash", "compiling gemm failed: its process was ended by signal 11"},
      {"exit", "compiling gemm failed: it ended its process with exit status 3"},
      {"refuse", "compiling gemm failed: line 7: it makes no sense"},
      {"nothing", "compiling gemm gave no code"}};
  for (const auto& [text, sentence] : rows) {
    EXPECT_THAT(compile(compiler, request(text)), HasSubstr(sentence));
    EXPECT_THAT(compile(compiler, request("text")), StartsWith("gemm|")) << "after " << text;
  }
  EXPECT_THAT(compile(compiler, request("flood")), StartsWith("gemm|gfx90a|flood"));
  EXPECT_THAT(compile(compiler, request(std::string(std::size_t{5} << 20, 'x'))), HasSubstr("is longer than"));
}

TEST(ChildCompiler, AHangEndsWithItsTime) {
  auto limited = options();
  limited.timeout = 100ms;
  ChildCompiler compiler(limited);
  EXPECT_THAT(compile(compiler, request("hang")), HasSubstr("it did not come back in time"));
  EXPECT_THAT(children_of(getpid()), IsEmpty());
}

TEST(ChildCompiler, MemoryHasALimit) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's shadow memory exceeds any limit";
  auto limited = options();
  limited.memory_bytes = std::uint64_t{512} << 20;
  ChildCompiler compiler(limited);
  EXPECT_THAT(compile(compiler, request("take memory")), HasSubstr("bad_alloc"));
}

TEST(ChildCompiler, WhatAnotherRequestMayHaveDamagedIsTriedOnceMore) {
  const test::TemporaryDirectory directory;
  ChildCompiler compiler(options());
  CompileRequest once = request("crash once");
  once.options = {directory.path("marker")};
  EXPECT_THAT(compile(compiler, once), StartsWith("gemm|gfx90a|crash once"));
}

TEST(ChildCompiler, AProgramThatIsNoneSaysSo) {
  for (const char* program : {"/nowhere/compiler", "/bin/true"}) {
    auto wrong = options();
    wrong.program = {program};
    ChildCompiler compiler(wrong);
    EXPECT_THAT(compile(compiler, request("text")), StartsWith("failed: ")) << program;
  }
}

TEST(ChildCompiler, ThreadsCompileAtTheSameTime) {
  ChildCompiler compiler(options());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = std::to_string(number) + " " + std::to_string(i);
        if (compile(compiler, request(text)).starts_with("gemm|gfx90a|" + text + "|")) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
  // They died with the threads that started them; the next request starts another one.
  EXPECT_THAT(compile(compiler, request("text")), StartsWith("gemm|"));
}

#ifdef HIP_COMPILER
TEST(HipCompiler, CompilesForAGpuThatIsNotThere) {
  ChildCompiler compiler({.program = {HIP_COMPILER}, .version = "hiprtc"});
  CompileRequest kernel{.name = "set",
                        .source = "extern \"C\" __global__ void set(float* x) { x[threadIdx.x] = VALUE; }",
                        .options = {"-DVALUE=1.0f"},
                        .architecture = HIP_ARCHITECTURE};
  EXPECT_THAT(compile(compiler, kernel), StartsWith("\x7f"
                                                    "ELF"));
  kernel.options = {"-DVALUE=("};
  EXPECT_THAT(compile(compiler, kernel), ContainsRegex("expected (an )?expression"));
  kernel.options = {"-DVALUE=1"};
  EXPECT_THAT(compile(compiler, kernel), StartsWith("\x7f"
                                                    "ELF"));
}
#endif

}  // namespace
}  // namespace hone::workers
