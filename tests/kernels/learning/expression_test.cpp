#include "kernels/learning/expression.hpp"

#include <gtest/gtest.h>

#include <hone/error.hpp>

#include "kernels/learning/features.hpp"

namespace hone::learning {
namespace {

const std::vector<Variable> variables = {{"m"}, {"k"}, {"type", {"bf16", "f32"}}};

double value(const std::string& text, std::vector<double> values = {6, 4, 1}) {
  return Expression::parse(text, variables).evaluate(values.data());
}

std::string complaint(const std::string& text) {
  try {
    Expression::parse(text, variables);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LearningExpression, ComputesWithDoubles) {
  EXPECT_EQ(value("m * k + 1"), 25);
  EXPECT_EQ(value("m / k"), 1.5);
  EXPECT_EQ(value("10 - 2 - 3"), 5);
  EXPECT_EQ(value("-m + 2 * (k - 1)"), 0);
  EXPECT_EQ(value("ceil(m / 4) + floor(m / 4) * 10"), 12);
  EXPECT_EQ(value("log2(k) + abs(0 - m)"), 8);
  EXPECT_EQ(value("min(m, k) - max(m, k)"), -2);
  EXPECT_EQ(value("m % 4 == 2 and k % 4 == 0"), 1);
  EXPECT_EQ(value("m % 5", {-1, 0, 0}), 4);
  EXPECT_EQ(value("m < k or k <= 4"), 1);
  EXPECT_EQ(value("(m != 6) + (k >= 4) + (m > 5)"), 2);
}

TEST(LearningExpression, ComparesCategoriesByLabel) {
  EXPECT_EQ(value("type == 'f32'"), 1);
  EXPECT_EQ(value("type != 'f32'", {0, 0, 0}), 1);
  // A category that was never seen is no other one.
  EXPECT_EQ(value("type == 'f32'", {0, 0, -1}), 0);
}

TEST(LearningExpression, NamesWhatIsWrongAndWhere) {
  EXPECT_NE(complaint("m * q").find("column 5: there is no variable or function 'q'"), std::string::npos);
  EXPECT_NE(complaint("m +").find("ends too early"), std::string::npos);
  EXPECT_NE(complaint("(m").find("')' is missing"), std::string::npos);
  EXPECT_NE(complaint("m m").find("'m' does not belong here"), std::string::npos);
  EXPECT_NE(complaint("type == 'f64'").find("type has no category 'f64'"), std::string::npos);
  EXPECT_NE(complaint("m + 1 == 'f32'").find("a label is compared"), std::string::npos);
  EXPECT_NE(complaint("1x").find("is no number"), std::string::npos);
  EXPECT_NE(complaint("'f32").find("a quote is not closed"), std::string::npos);
  EXPECT_NE(complaint(std::string(200, '(')).find("nested too deeply"), std::string::npos);
  std::string deep = "1";
  for (int i = 0; i < 60; ++i) deep = "1+(" + deep + ")";
  EXPECT_NE(complaint(deep).find("nested too deeply"), std::string::npos);
}

TEST(LearningExpression, IsPrintedAsCode) {
  const auto code = [](const char* text) { return Expression::parse(text, variables).code(variables); };
  EXPECT_EQ(code("m * k / 2"), "(m * k) / 2.0");
  EXPECT_EQ(code("m == 1 and k"), "(m == 1.0) && (k != 0)");
  EXPECT_EQ(code("8 - 4 * (type == 'f32')"), "8.0 - (4.0 * double((type == 1.0)))");
  EXPECT_TRUE(Expression::parse("m < k", variables).is_truth());
  EXPECT_FALSE(Expression::parse("m + k", variables).is_truth());
}

TEST(LearningFeatures, SeparateWhatDependsOnTheCandidate) {
  const Features features({{"m"}}, {{"tile"}}, {{"m", "m"}, {"tiles", "ceil(m / tile)"}});
  const double values[] = {100, 32};
  double row[] = {0, 0};
  features.of_problem(values, row);
  EXPECT_EQ(row[0], 100);
  EXPECT_EQ(row[1], 0);
  features.of_candidate(values, row);
  EXPECT_EQ(row[1], 4);
  EXPECT_THROW(Features({{"m"}}, {{"m"}}, {{"m", "m"}}), Error);
  EXPECT_THROW(Features({{"m"}}, {}, {{"m", "m"}, {"m", "m + 1"}}), Error);
}

}  // namespace
}  // namespace hone::learning
