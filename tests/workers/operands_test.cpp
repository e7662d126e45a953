#include "workers/operands.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <hone/error.hpp>
#include <set>

#include "tests/support/scripted_operation.hpp"
#include "workers/elements.hpp"

namespace hone::workers {
namespace {

using test::Doubling;
using test::ScriptedDevice;
using testing::HasSubstr;

struct Increment {
  static constexpr std::string_view operation = "increment";
  std::int64_t elements = 300;
  DataType type = f32;
  bool in_place = true;
  std::int64_t amount = 0;
  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("elements", self.elements);
    visit("type", self.type);
    visit("in_place", self.in_place);
    visit("amount", self.amount);
  }
};

// y = y + amount, or y = amount, but for the last third of y, which stays untouched.
class IncrementOperation final : public OperationFor<Increment> {
 public:
  IncrementOperation() : OperationFor({}, "") {}
  Refusal validate(const Increment&) const override { return {}; }
  std::vector<Operand> operands(const Increment& p) const override {
    return {{"unused", OperandRole::input, p.type, 0},
            {"y", p.in_place ? OperandRole::input_output : OperandRole::output, p.type,
             static_cast<std::size_t>(p.elements)}};
  }
  void reference(const Increment& p, std::span<const std::span<std::byte>> operands) const override {
    ++references;
    apply(p, operands[1].data());
  }
  static void apply(const Increment& p, std::byte* y) {
    for (std::size_t i = 0; i < touched(p); ++i) {
      const double before = p.in_place ? load_element(y, p.type, i) : 0;
      store_element(y, p.type, i, before + static_cast<double>(p.amount));
    }
  }
  static std::size_t touched(const Increment& p) { return static_cast<std::size_t>(2 * p.elements / 3); }
  ErrorBound error_bound(const Increment&) const override { return {.absolute = 0.01, .relative = 0}; }

  mutable int references = 0;
};

class OperandsTest : public testing::Test {
 protected:
  std::shared_ptr<test::ManualClock> clock = std::make_shared<test::ManualClock>();
  ScriptedDevice device{clock};
  IncrementOperation increment;
  static constexpr std::uint64_t plenty = 1 << 20;
};

TEST_F(OperandsTest, InputsAreUniformFromMinusOneToOneAndFollowTheSeed) {
  const auto operation = test::scripted_operation({test::scripted_solver("a")});
  const Problem problem(Doubling{.elements = 4000});
  const Operands one(*operation, problem, device, plenty, 1);
  const Operands again(*operation, problem, device, plenty, 1);
  const Operands other(*operation, problem, device, plenty, 2);
  const float* x = one.arguments().get<float>(0);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 4000; ++i) {
    ASSERT_LE(std::abs(x[i]), 1);
    sum += static_cast<double>(x[i]);
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  EXPECT_NEAR(sum / 4000, 0, 0.05);
  EXPECT_NEAR(squares / 4000, 1.0 / 3, 0.03);
  EXPECT_TRUE(std::equal(x, x + 4000, again.arguments().get<float>(0)));
  EXPECT_FALSE(std::equal(x, x + 4000, other.arguments().get<float>(0)));
}

TEST_F(OperandsTest, UnusedOperandsAreNullAndTakeNoMemory) {
  const Operands operands(increment, Problem(Increment{.elements = 8}), device, plenty, 1);
  EXPECT_EQ(operands.arguments().get<void>(0), nullptr);
  EXPECT_NE(operands.arguments().get<void>(1), nullptr);
  EXPECT_EQ(operands.bytes(), 8 * 4 + 64u);
  EXPECT_EQ(device.allocated(), operands.bytes());
}

TEST_F(OperandsTest, RefusesMoreThanTheCap) {
  const Problem problem(Increment{.elements = 1000});
  EXPECT_NO_THROW(Operands(increment, problem, device, 4064, 1));
  try {
    Operands(increment, problem, device, 4063, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory);
    EXPECT_THAT(error.what(), HasSubstr("4064 bytes"));
    EXPECT_THAT(error.what(), HasSubstr("max_buffer_bytes = 4063"));
  }
  EXPECT_THROW(Operands(increment, Problem(Increment{.elements = INT64_MAX / 2}), device, plenty, 1), Error);
}

struct Row {
  DataType type;
  bool in_place;
  std::int64_t amount;
};

class EveryType : public OperandsTest, public testing::WithParamInterface<Row> {};

// Also where a right result happens to equal what was there: amount 0 adds nothing, amount 90 is the integers' poison.
TEST_P(EveryType, RightResultsPassAndStrayWritesDoNot) {
  const Row row = GetParam();
  const Increment p{.type = row.type, .in_place = row.in_place, .amount = row.amount};
  Operands operands(increment, Problem(p), device, plenty, 3);
  auto* y = operands.arguments().get<std::byte>(1);
  for (int repetition = 0; repetition < 2; ++repetition) {
    operands.reset();
    IncrementOperation::apply(p, y);
    EXPECT_EQ(operands.check(), std::nullopt);
  }

  const std::size_t first_gap = IncrementOperation::touched(p);
  operands.reset();
  IncrementOperation::apply(p, y);
  y[first_gap * size_of(row.type)] ^= std::byte{1};
  EXPECT_THAT(operands.check().value_or(""), HasSubstr("it wrote to y[200], which must stay untouched"));

  operands.reset();
  IncrementOperation::apply(p, y);
  store_element(y, row.type, 7, load_element(y, row.type, 7) + 3);
  EXPECT_THAT(operands.check().value_or(""), HasSubstr("y[7] is "));

  operands.reset();
  IncrementOperation::apply(p, y);
  y[300 * size_of(row.type)] = std::byte{0};
  EXPECT_THAT(operands.check().value_or(""), HasSubstr("behind the end of y"));
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const DataType type : {f32, f64, f16, bf16, i8, i32}) {
    for (const bool in_place : {true, false}) {
      for (const std::int64_t amount : {1, 90}) rows.push_back({type, in_place, amount});
    }
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::ValuesIn(all_rows()), [](const auto& row) {
  return fmt::format("{}_{}_{}", symbols(row.param.type)[static_cast<std::size_t>(row.param.type)],
                     row.param.in_place ? "in_place" : "output", row.param.amount);
});

TEST_F(OperandsTest, AWriteThatNeverHappensIsFound) {
  Operands operands(increment, Problem(Increment{.in_place = false, .amount = 1}), device, plenty, 1);
  operands.reset();
  EXPECT_THAT(operands.check().value_or(""), HasSubstr("nan and not 1 within 0.01"));
}

TEST_F(OperandsTest, ElementsWithinTheBoundPass) {
  const Increment p{.amount = 1};
  Operands operands(increment, Problem(p), device, plenty, 1);
  auto* y = operands.arguments().get<float>(1);
  operands.reset();
  IncrementOperation::apply(p, operands.arguments().get<std::byte>(1));
  y[5] += 0.0099F;
  EXPECT_EQ(operands.check(), std::nullopt);
  y[5] += 0.0099F;
  EXPECT_NE(operands.check(), std::nullopt);
}

TEST_F(OperandsTest, AChangedInputIsFoundAndRestored) {
  const auto operation = test::scripted_operation({test::scripted_solver("a")});
  Operands operands(*operation, Problem(Doubling{}), device, plenty, 1);
  auto* x = operands.arguments().get<float>(0);
  const float before = x[3];
  x[3] = 9;
  EXPECT_EQ(operands.check(), "it changed its input x");
  operands.reset();
  EXPECT_EQ(x[3], before);
}

TEST_F(OperandsTest, TheReferenceIsComputedTwiceOnlyWhereChanceMayHaveKeptAValue) {
  Operands(increment, Problem(Increment{.in_place = false}), device, plenty, 1);
  EXPECT_EQ(increment.references, 1);
  Operands(increment, Problem(Increment{.in_place = true}), device, plenty, 1);
  EXPECT_EQ(increment.references, 3);
}

}  // namespace
}  // namespace hone::workers
