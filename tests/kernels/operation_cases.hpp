// Checks of an operation's solvers on the host that are the same for every operation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <hone/device.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "workers/operands.hpp"

namespace hone::testing {

inline std::shared_ptr<const Solver> solver_of(const Operation& operation, std::string_view id) {
  for (const auto& solver : operation.solvers()) {
    if (solver->id() == id) return solver;
  }
  return nullptr;
}

// "" when one launch of the candidate on poisoned memory writes what the reference does and nothing else.
inline std::string check(const Operation& operation, const Problem& problem, const Solver& solver,
                         const Configuration& configuration) {
  const auto device = host_device();
  const auto stream = host_stream();
  workers::Operands operands(operation, problem, *device, std::uint64_t{1} << 30, 1);
  operands.reset();
  const auto invoker = solver.prepare(problem, configuration, *device);
  if (const std::error_code error = invoker->run(*stream, operands.arguments())) return error.message();
  return operands.check().value_or("");
}

// Every configuration of the solver; the number of those checked, 0 when the solver does not take the problem.
inline int check_all(const Operation& operation, const Problem& problem, const Solver& solver) {
  EXPECT_EQ(operation.validate(problem), std::nullopt) << problem.text();
  const auto device = host_device();
  if (solver.applicable(problem, *device)) return 0;
  int checked = 0;
  solver.search_space(problem, *device).for_each([&](const Configuration& configuration) {
    EXPECT_EQ(check(operation, problem, solver, configuration), "")
        << solver.id() << ' ' << configuration.text() << ": " << problem.text();
    ++checked;
    return !::testing::Test::HasFailure();
  });
  EXPECT_TRUE(solver.search_space(problem, *device).contains(solver.default_configuration(problem, *device)));
  return checked;
}

// The number of wrong results of four threads that run one invoker at the same time, each on a stream of its own.
inline int wrong_on_many_threads(const Operation& operation, const Problem& problem, const Solver& solver) {
  const auto device = host_device();
  const auto invoker = solver.prepare(problem, solver.default_configuration(problem, *device), *device);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      const auto stream = host_stream();
      workers::Operands operands(operation, problem, *device, std::uint64_t{1} << 30, seed);
      for (int round = 0; round < 50; ++round) {
        operands.reset();
        if (invoker->run(*stream, operands.arguments()) || operands.check()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

// A device that is not the host.
class OtherDevice final : public Device {
 public:
  const std::string& name() const noexcept override { return name_; }
  const Environment& environment() const noexcept override { return environment_; }
  std::unique_ptr<Stream> make_stream(StreamPriority) override { return nullptr; }
  Buffer allocate(std::size_t) override { return {}; }
  void copy_to_device(std::byte*, std::span<const std::byte>) override {}
  void copy_to_host(std::span<std::byte>, const std::byte*) override {}
  std::size_t last_level_cache_bytes() const noexcept override { return 0; }

 private:
  std::string name_ = "hip:0";
  Environment environment_;
};

}  // namespace hone::testing
