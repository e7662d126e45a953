#include <gtest/gtest.h>

#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <hone/problem.hpp>

namespace hone {
namespace {

using gemm::Problem;

TEST(ProblemText, ListsOnlyFieldsThatDifferFromTheirDefaults) {
  EXPECT_EQ(hone::Problem(Problem{.m = 16, .n = 768, .k = 3072}).text(), "gemm m=16 n=768 k=3072");
  EXPECT_EQ(hone::Problem(Problem{.m = 1,
                                  .n = 2,
                                  .k = 3,
                                  .transpose_b = true,
                                  .beta = 0.5F,
                                  .bias = true,
                                  .activation = gemm::Activation::gelu})
                .text(),
            "gemm m=1 n=2 k=3 transpose_b=true beta=0.5 bias=true activation=gelu");
}

TEST(ProblemText, ParsesBackToAnEqualProblemWithTheSameKey) {
  const hone::Problem problem(Problem{.m = 7, .n = 5, .k = 3, .type = f64, .alpha = 0.1F, .batch = 12, .lda = 40});
  const hone::Problem parsed = hone::Problem::parse(problem.type(), problem.text());
  EXPECT_EQ(parsed, problem);
  EXPECT_EQ(parsed.key(), problem.key());
  EXPECT_EQ(parsed.as<Problem>().lda, 40);
  EXPECT_EQ(parsed.as<Problem>().alpha, 0.1F);
}

TEST(ProblemText, NamesTheFieldAndTheAcceptedValuesOfBadInput) {
  const auto message = [](const char* text) {
    try {
      hone::Problem::parse(problem_type<Problem>(), text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_problem);
      return std::string(error.what());
    }
    return std::string("parsed");
  };
  EXPECT_NE(message("m=x").find("field m takes an integer, not 'x'"), std::string::npos);
  EXPECT_NE(message("m=99999999999999999999").find("field m takes an integer"), std::string::npos);
  EXPECT_NE(message("type=f33").find("one of f32, f64, f16, bf16, i8, i32, not 'f33'"), std::string::npos);
  EXPECT_NE(message("bias=maybe").find("true or false"), std::string::npos);
  EXPECT_NE(message("beta=nan").find("field beta takes a number"), std::string::npos);
  EXPECT_NE(message("q=1").find("there is no field 'q'; fields are m, n, k"), std::string::npos);
  EXPECT_NE(message("m=1 m=2").find("given twice"), std::string::npos);
  EXPECT_NE(message("conv2d m=1").find("'conv2d' is not name=value"), std::string::npos);
}

TEST(ProblemKey, DependsOnEveryFieldAndNotOnTheSignOfZero) {
  const Problem base{.m = 1, .n = 1, .k = 1};
  const ProblemKey key = hone::Problem(base).key();
  Problem changed = base;
  changed.stride_c = 1;
  EXPECT_NE(hone::Problem(changed).key(), key);
  changed = base;
  changed.beta = -0.0F;
  EXPECT_EQ(hone::Problem(changed).key(), key);
}

// A stored database depends on it: a change of this value is a change of the format.
TEST(ProblemKey, IsTheSameInEveryBuild) {
  EXPECT_EQ(to_string(hone::Problem(Problem{.m = 16, .n = 768, .k = 3072}).key()), "ecec8f45935f5210ee486fb7fa37f4ec");
}

TEST(Problem, ReportsASymbolOutsideItsEnumeration) {
  Problem problem{.m = 1, .n = 1, .k = 1};
  EXPECT_FALSE(hone::Problem(problem).malformed_field());
  problem.type = static_cast<DataType>(77);
  EXPECT_EQ(hone::Problem(problem).malformed_field(), "type");
  problem.type = f32;
  problem.alpha = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(hone::Problem(problem).malformed_field(), "alpha");
}

TEST(ProblemType, RejectsTypesThatCannotBeWritten) {
  EXPECT_THROW(ProblemType("", {{"m"}}), Error);
  EXPECT_THROW(ProblemType("a b", {{"m"}}), Error);
  EXPECT_THROW(ProblemType("a", {}), Error);
  EXPECT_THROW(ProblemType("a", {{"m"}, {"m"}}), Error);
  EXPECT_THROW(ProblemType("a", std::vector<Field>(max_problem_fields + 1, Field{"m"})), Error);
}

}  // namespace
}  // namespace hone
