#include "kernels/hip/code_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::hip {
namespace {

using ::testing::HasSubstr;

const KernelFacts large{.name = "large",
                        .vector_registers = 128,
                        .scalar_registers = 30,
                        .spilled_registers = 2,
                        .local_memory_bytes = 4096,
                        .private_memory_bytes = 8};
const KernelFacts small{.name = "small", .vector_registers = 8, .scalar_registers = 40};
const std::vector<KernelFacts> kernels = {large, small};

KernelLaunch launch(std::string_view kernel, std::uint32_t work_group = 256) {
  return {.kernel = kernel, .work_group = work_group};
}

// Of one launch of a kernel with these facts.
std::string reason(const KernelFacts& facts, std::uint32_t work_group = 256, const DeviceLimits& limits = {}) {
  const KernelLaunch only = launch(facts.name, work_group);
  return hopeless({&facts, 1}, {&only, 1}, limits).value_or("");
}

TEST(CodeFacts, AreTheGreatestOfTheLaunchedKernels) {
  const KernelLaunch both[] = {launch("large"), launch("small")};
  EXPECT_EQ(code_facts(kernels, both), (CodeFacts{{"vector_registers", 128},
                                                  {"scalar_registers", 40},
                                                  {"spilled_registers", 2},
                                                  {"local_memory_bytes", 4096},
                                                  {"private_memory_bytes", 8}}));
  EXPECT_EQ(code_facts(kernels, std::span(both).subspan(1)).at("vector_registers"), 8);
}

TEST(CodeFacts, AreNoneWhereTheCodeSaysNothing) {
  const KernelLaunch launches[] = {launch("large"), launch("unknown")};
  EXPECT_EQ(code_facts({}, launches), CodeFacts());
  EXPECT_EQ(code_facts(kernels, std::span(launches).subspan(1)), CodeFacts());
  EXPECT_FALSE(hopeless({}, launches, {}));
  EXPECT_NO_THROW(reject_hopeless({}, launches, {}));
}

TEST(CodeFacts, SpillsBeyondTheLimitAreHopeless) {
  KernelFacts facts = large;
  facts.private_memory_bytes = 4000;
  facts.spilled_registers = max_spilled_registers;
  EXPECT_EQ(reason(facts), "");
  facts.spilled_registers = max_spilled_registers + 1;
  EXPECT_EQ(reason(facts), "its kernel large spills 65 registers to memory, more than the 64 that are worth a run");
  // Most of them to other registers.
  facts.private_memory_bytes = 4 * max_spilled_registers;
  EXPECT_EQ(reason(facts), "");
}

TEST(CodeFacts, WhatTheDeviceHasNotIsHopeless) {
  DeviceLimits limits;
  limits.local_memory_bytes = 4096;
  EXPECT_EQ(reason(large, 256, limits), "");
  limits.local_memory_bytes = 4095;
  EXPECT_THAT(reason(large, 256, limits), HasSubstr("takes 4096 bytes of local memory, and the device has 4095"));
  EXPECT_EQ(reason(large, 512), "");  // 512 * 128 registers: all of them
  EXPECT_THAT(reason(large, 576),
              HasSubstr("takes 128 registers for each of 576 work-items, and the device has 65536"));
  KernelFacts impossible = large;
  impossible.vector_registers = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(reason(impossible), HasSubstr("registers for each"));
}

// The second kernel of a candidate counts too; what is not launched does not.
TEST(CodeFacts, ARejectionTellsThem) {
  KernelFacts spilling = small;
  spilling.spilled_registers = 100;
  spilling.private_memory_bytes = 400;
  const std::vector<KernelFacts> both = {large, spilling};
  const KernelLaunch launches[] = {launch("large"), launch("small")};
  EXPECT_NO_THROW(reject_hopeless(both, std::span(launches).first(1), {}));
  try {
    reject_hopeless(both, launches, {});
    ADD_FAILURE() << "it is not rejected";
  } catch (const RejectedCode& rejected) {
    EXPECT_THAT(rejected.what(), HasSubstr("its kernel small spills 100 registers"));
    EXPECT_EQ(rejected.facts(), code_facts(both, launches));
    EXPECT_EQ(rejected.facts().at("spilled_registers"), 100);
  }
}

}  // namespace
}  // namespace hone::hip
