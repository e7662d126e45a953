// Operands of a matrix product with guards around them, and the comparison with the reference.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <hone/device.hpp>
#include <hone/gemm.hpp>
#include <hone/operation.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace hone::gemm {

// Operands between -1 and 1. C starts with values of its own, so that gaps that were touched show.
struct Case {
  hone::Problem problem;
  std::vector<float> a, b, c, bias, expected;

  explicit Case(const Problem& p, unsigned seed = 1) : problem(p) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const std::vector<Operand> operands = operation()->operands(problem);
    std::vector<float>* const values[] = {&a, &b, &c, &bias};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      values[i]->resize(operands[i].count);
      for (float& value : *values[i]) value = uniform(random);
    }
    expected = c;
    std::vector<float> inputs[] = {a, b, bias};
    const std::span<std::byte> spans[] = {bytes(inputs[0]), bytes(inputs[1]), bytes(expected), bytes(inputs[2])};
    operation()->reference(problem, spans);
  }

  // "" when the output is right, and nothing but the output was written.
  std::string check(const Invoker& invoker, Stream& stream) const {
    constexpr std::size_t guard = 16;
    const float mark = 12345;
    std::vector<float> output(c.size() + 2 * guard, mark);
    std::copy(c.begin(), c.end(), output.begin() + guard);
    // Operands of exactly their extent: reading beyond it shows under the address sanitizer.
    const std::vector<float> in_a = a, in_b = b, in_bias = bias;
    const std::error_code error =
        invoker.run(stream, {in_a.data(), in_b.data(), output.data() + guard, bias.empty() ? nullptr : in_bias.data()});
    if (error) return error.message();
    if (in_a != a || in_b != b || in_bias != bias) return "an input was written";
    for (std::size_t i = 0; i < guard; ++i) {
      if (output[i] != mark || output[guard + c.size() + i] != mark) return "memory outside C was written";
    }
    return compare(std::span(output).subspan(guard, c.size()));
  }

  std::string compare(std::span<const float> output) const {
    const auto p = problem.as<Problem>();
    const ErrorBound bound = operation()->error_bound(problem);
    std::vector<bool> inside(c.size(), false);
    const std::int64_t ldc = p.ldc != 0 ? p.ldc : p.n;
    const std::int64_t stride = p.stride_c != 0 ? p.stride_c : p.m * ldc;
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) inside[static_cast<std::size_t>(batch * stride + i * ldc + j)] = true;
      }
    }
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double difference = std::abs(static_cast<double>(output[i]) - expected[i]);
      if (!inside[i] && output[i] != c[i]) return "element " + std::to_string(i) + " in a gap of C was written";
      if (inside[i] && !(difference <= bound.absolute + bound.relative * std::abs(expected[i]))) {
        return "element " + std::to_string(i) + " is " + std::to_string(output[i]) + ", not " +
               std::to_string(expected[i]);
      }
    }
    return "";
  }

 private:
  static std::span<std::byte> bytes(std::vector<float>& values) { return std::as_writable_bytes(std::span(values)); }
};

inline const Solver& solver(std::string_view id) {
  for (const auto& candidate : operation()->solvers()) {
    if (candidate->id() == id) return *candidate;
  }
  throw std::runtime_error("no solver " + std::string(id));
}

}  // namespace hone::gemm
