// What solvers of GPU kernels make of what the compiler says about their code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hone/error.hpp>
#include <hone/softmax.hpp>

#include "kernels/hip/code_facts.hpp"
#include "kernels/hip/kernel_device.hpp"
#include "kernels/hip/row_kernel.hpp"
#include "kernels/softmax/hip/kernel.hpp"
#include "kernels/softmax/reference.hpp"

namespace hone::hip {
namespace {

using ::testing::HasSubstr;

class Code final : public LoadedCode {
 public:
  Code(std::vector<KernelFacts> kernels, int& launches) : kernels_(std::move(kernels)), launches_(launches) {}
  std::unique_ptr<const PreparedLaunch> prepare(const KernelLaunch&) const override {
    class Launch final : public PreparedLaunch {
     public:
      explicit Launch(int& launches) : launches_(launches) {}
      std::error_code run(Stream&, const void*) const noexcept override {
        ++launches_;
        return {};
      }

     private:
      int& launches_;
    };
    return std::make_unique<Launch>(launches_);
  }
  std::span<const KernelFacts> kernels() const noexcept override { return kernels_; }

 private:
  const std::vector<KernelFacts> kernels_;
  int& launches_;
};

// Compiles everything to code with the same facts, and has no memory.
class CompilingDevice final : public Device, public KernelDevice {
 public:
  const std::string& name() const noexcept override { return name_; }
  const Environment& environment() const noexcept override { return environment_; }
  std::unique_ptr<Stream> make_stream(StreamPriority) override { return nullptr; }
  Buffer allocate(std::size_t) override { throw Error(Errc::out_of_memory, "it has none"); }
  void copy_to_device(std::byte*, std::span<const std::byte>) override {}
  void copy_to_host(std::span<std::byte>, const std::byte*) override {}
  std::size_t last_level_cache_bytes() const noexcept override { return 0; }
  const DeviceLimits& limits() const noexcept override { return limits_; }
  bool in_service() const noexcept override { return true; }
  std::string_view architecture() const noexcept override { return "gfx90a"; }
  std::shared_ptr<const LoadedCode> compile(const KernelSource&) override { return load({}); }
  std::shared_ptr<const LoadedCode> load(std::span<const std::byte>) override {
    return std::make_shared<Code>(std::vector{facts}, launches);
  }

  KernelFacts facts{
      .name = "softmax", .vector_registers = 30, .local_memory_bytes = 1024, .private_memory_bytes = 1000};
  int launches = 0;

 private:
  const std::string name_ = "compiling";
  const Environment environment_;
  const DeviceLimits limits_;
};

class RowSolverTest : public ::testing::Test {
 protected:
  RowSolverTest() {
    const RowLayout layout = softmax::layout_of(problem_);
    standard_ = default_row_configuration(layout, problem_.type, device_.limits());
    row_search_space(layout, problem_.type, device_.limits()).for_each([&](const Configuration& configuration) {
      other_ = configuration;
      return configuration == standard_;
    });
  }
  std::shared_ptr<const Invoker> prepare(const Configuration& configuration) {
    return softmax::hip::rows()->prepare(Problem(problem_), configuration, device_);
  }

  const softmax::Problem problem_{.rows = 1000, .columns = 1000};
  CompilingDevice device_;
  Configuration standard_, other_;
};

TEST_F(RowSolverTest, HandsOnTheFactsOfItsCode) {
  ASSERT_NE(standard_, other_);
  EXPECT_EQ(prepare(other_)->facts().at("vector_registers"), 30);
  EXPECT_EQ(prepare(other_)->facts().at("local_memory_bytes"), 1024);
  device_.facts.name = "another";
  EXPECT_EQ(prepare(other_)->facts(), CodeFacts());
}

TEST_F(RowSolverTest, RejectsWhatIsHopelessButForTheDefault) {
  device_.facts.spilled_registers = max_spilled_registers + 1;
  try {
    prepare(other_);
    ADD_FAILURE() << "it is not rejected";
  } catch (const RejectedCode& rejected) {
    EXPECT_THAT(rejected.what(), HasSubstr("its kernel softmax spills 65 registers"));
    EXPECT_EQ(rejected.facts().at("spilled_registers"), 65);
  }
  EXPECT_EQ(prepare(standard_)->facts().at("spilled_registers"), 65);
  EXPECT_EQ(device_.launches, 0);
  device_.facts.spilled_registers = max_spilled_registers;
  EXPECT_NE(prepare(other_), nullptr);
}

}  // namespace
}  // namespace hone::hip
