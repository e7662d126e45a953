#include <hone/heuristic.hpp>
#include <limits>

#include "kernels/element.hpp"
#include "kernels/gemm/host/instruction_set.hpp"
#include "tests/kernels/gemm_cases.hpp"

namespace hone::gemm {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Problem& p) { return operation()->validate(hone::Problem(p)).value_or("valid"); }

TEST(GemmValidation, NamesTheFieldAndWhatItAccepts) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1}), "valid");
  EXPECT_EQ(refusal({.m = 0, .n = 1, .k = 1}), "field m must be positive");
  EXPECT_EQ(refusal({.m = 1, .n = -5, .k = 1}), "field n must be positive");
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 0}), "field k must be positive");
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1, .batch = 0}), "field batch must be positive");
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1, .type = f64}), "field type accepts f32 and f16");
  EXPECT_EQ(refusal({.m = 1, .n = 1, .k = 1, .type = static_cast<DataType>(99)}), "field type accepts f32 and f16");
  EXPECT_THAT(refusal({.m = 1, .n = 1, .k = 1, .activation = static_cast<Activation>(9)}), HasSubstr("activation"));
  EXPECT_THAT(refusal({.m = 1, .n = 1, .k = 1, .alpha = std::numeric_limits<float>::infinity()}), HasSubstr("alpha"));
  EXPECT_THAT(refusal({.m = 1, .n = 1, .k = 1, .beta = std::numeric_limits<float>::quiet_NaN()}), HasSubstr("beta"));
  EXPECT_THAT(refusal({.m = std::int64_t{1} << 40, .n = std::int64_t{1} << 40, .k = 1}),
              HasSubstr("operand c exceeds"));
  EXPECT_THAT(refusal({.m = huge / 2, .n = 1, .k = 3}), HasSubstr("operand a exceeds"));
  EXPECT_THAT(refusal({.m = 1, .n = huge, .k = 1}), HasSubstr("operand b exceeds"));
  EXPECT_THAT(refusal({.m = 1, .n = 1, .k = 1, .batch = huge, .stride_a = huge}), HasSubstr("operand a exceeds"));
}

TEST(GemmValidation, ComparesStridesWithTheStoredRows) {
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .lda = 5}), HasSubstr("field lda"));
  EXPECT_EQ(refusal({.m = 4, .n = 5, .k = 6, .transpose_a = true, .lda = 5}), "valid");
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .ldb = 4}), HasSubstr("field ldb"));
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .transpose_b = true, .ldb = 5}), HasSubstr("field ldb"));
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .ldc = -1}), HasSubstr("field ldc"));
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .batch = 2, .stride_b = -1}), HasSubstr("field stride_b"));
}

TEST(GemmValidation, KeepsTheMatricesOfABatchApart) {
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .batch = 2, .stride_c = 19}), HasSubstr("field stride_c"));
  EXPECT_EQ(refusal({.m = 4, .n = 5, .k = 6, .batch = 2, .stride_c = 20}), "valid");
  EXPECT_EQ(refusal({.m = 4, .n = 5, .k = 6, .batch = 3, .ldc = 15, .stride_c = 5}), "valid");
  EXPECT_THAT(refusal({.m = 4, .n = 5, .k = 6, .batch = 4, .ldc = 15, .stride_c = 5}), HasSubstr("field stride_c"));
  EXPECT_EQ(refusal({.m = 4, .n = 5, .k = 6, .stride_c = 1}), "valid");
}

TEST(GemmOperation, SaysWhatEveryOperandHolds) {
  const auto operands = operation()->operands(hone::Problem(
      Problem{.m = 2, .n = 3, .k = 4, .transpose_b = true, .beta = 1, .bias = true, .batch = 2, .ldc = 10}));
  ASSERT_EQ(operands.size(), 4U);
  EXPECT_EQ(operands[0].count, 16U);
  EXPECT_EQ(operands[1].count, 24U);
  EXPECT_EQ(operands[2].count, 33U);
  EXPECT_EQ(operands[2].role, OperandRole::input_output);
  EXPECT_EQ(operands[3].count, 3U);
  const auto plain = operation()->operands(hone::Problem(Problem{.m = 2, .n = 3, .k = 4}));
  EXPECT_EQ(plain[2].role, OperandRole::output);
  EXPECT_EQ(plain[3].count, 0U);
}

// Row by row with pencil and paper.
TEST(GemmReference, ComputesAKnownProduct) {
  const hone::Problem problem(
      Problem{.m = 2, .n = 2, .k = 3, .alpha = 2, .beta = 10, .bias = true, .activation = Activation::relu});
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 2, 3, 4, 5, 6}, c = {1, 1, 1, -20}, bias = {0.5F, -0.5F};
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b)),
                                        std::as_writable_bytes(std::span(c)), std::as_writable_bytes(std::span(bias))};
  operation()->reference(problem, spans);
  EXPECT_EQ(c, (std::vector<float>{2 * 22 + 10 + 0.5F, 2 * 28 + 10 - 0.5F, 2 * 49 + 10 + 0.5F, 0}));
}

TEST(GemmReference, ComputesAKnownProductOfHalves) {
  const hone::Problem problem(
      Problem{.m = 2, .n = 2, .k = 2, .type = f16, .transpose_b = true, .bias = true, .ldc = 3});
  std::vector<Half> a = {1, 2, 3, 4}, b = {1, 2, 3, 4}, c = {0, 0, 7, 0, 0}, bias = {0.5F, 1024};
  const std::span<std::byte> spans[] = {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b)),
                                        std::as_writable_bytes(std::span(c)), std::as_writable_bytes(std::span(bias))};
  operation()->reference(problem, spans);
  EXPECT_EQ(c, (std::vector<Half>{5.5F, 11 + 1024, 7, 11.5F, 25 + 1024}));
}

// What the shipped heuristic was not trained on.
TEST(GemmOperation, HasNoAdviceForHalves) {
  Environment trained = host_device()->environment();
  trained.vendor = "intel";
  trained.architecture = "x86_64-avx512";
  const auto any = [](const Pick&) { return true; };
  const auto advise = [&](DataType type) {
    return operation()->heuristic()->advise(hone::Problem(Problem{.m = 16, .n = 768, .k = 768, .type = type}), trained,
                                            any);
  };
  EXPECT_EQ(advise(f16).confidence, Confidence::unsure);
  EXPECT_THAT(advise(f16).reason, HasSubstr("category"));
  EXPECT_THAT(advise(f32).reason, ::testing::Not(HasSubstr("category")));
}

// A bound that lets a lost term pass would be no check.
TEST(GemmReference, BoundCatchesALostTerm) {
  for (const std::int64_t k : {1, 10, 1000, 100000}) {
    const ErrorBound bound = operation()->error_bound(hone::Problem(Problem{.m = 1, .n = 1, .k = k}));
    EXPECT_LT(bound.absolute, 0.02) << k;
    EXPECT_GT(bound.absolute, 0) << k;
  }
}

TEST(GemmOperation, FallbackRunsEveryValidProblemWithoutCompilingOrWorkspace) {
  const auto device = host_device();
  const Solver& fallback = solver(operation()->fallback());
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const hone::Problem problem(Problem{.m = 3,
                                          .n = 5,
                                          .k = 7,
                                          .transpose_a = transpose_a,
                                          .transpose_b = transpose_b,
                                          .alpha = 3,
                                          .beta = 2,
                                          .bias = true,
                                          .activation = Activation::gelu,
                                          .batch = 2,
                                          .workspace_limit = 0});
      EXPECT_EQ(fallback.applicable(problem, *device), std::nullopt);
      EXPECT_FALSE(fallback.compiles(problem));
      EXPECT_EQ(fallback.workspace(problem, {}), 0U);
    }
  }
}

TEST(GemmOperation, NamesItsLibrariesInTheFacts) {
  const auto facts = operation()->facts();
  EXPECT_THAT(facts.at("gemm kernels"), HasSubstr("on"));
  for (const auto& candidate : operation()->solvers()) {
    for (const char* library : {"openblas", "blis", "onednn", "libxsmm"}) {
      if (candidate->id() == library) {
        EXPECT_EQ(facts.count(library), 1U) << library;
      }
    }
  }
}

// Every instruction set that this processor has, not only the widest one.
TEST(InstructionSets, ActivateLikeTheReference) {
  for (const host::InstructionSet* set : {host::portable_set(), host::avx2_set(), host::avx512_set()}) {
    if (set == nullptr) continue;
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      const std::int64_t n = 2001;
      std::vector<float> x(static_cast<std::size_t>(n)), bias(x.size(), 0.25F);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 50 - 20;
      std::vector<float> expected(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double y = 0.5 * x[i] + 0.25;
        expected[i] = static_cast<float>(
            activation == Activation::gelu ? 0.5 * y * (1 + std::tanh(0.7978845608028654 * (y + 0.044715 * y * y * y)))
            : activation == Activation::relu ? std::max(y, 0.0)
                                             : y);
      }
      set->finish(1, n, x.data(), n, 0.5F, bias.data(), activation);
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(x[i], expected[i], 1e-6 + 1e-6 * std::abs(expected[i])) << set->name << " at " << i;
      }
    }
  }
}

TEST(InstructionSets, EveryTileOfEachComputesItsPart) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const host::InstructionSet* set : {host::portable_set(), host::avx2_set(), host::avx512_set()}) {
    if (set == nullptr) continue;
    for (int rows = 1; rows <= host::max_tile_rows; ++rows) {
      for (int vectors = 1; vectors <= host::max_tile_vectors; ++vectors) {
        for (const int packed : {0, 1}) {
          for (const int variant : {0, 1, 2}) {
            const host::TileKernel kernel = set->tiles[packed][variant][rows - 1][vectors - 1];
            if (kernel == nullptr) continue;
            const int tail = variant == host::InstructionSet::partial ? set->lanes - 1 : set->lanes;
            const std::int64_t columns = (vectors - 1) * set->lanes + tail, k = 7;
            const auto fill = [&](std::int64_t count) {
              std::vector<float> values(static_cast<std::size_t>(count));
              for (float& value : values) value = uniform(random);
              return values;
            };
            const std::vector<float> a = fill(rows * k), b = fill(columns * k);
            std::vector<float> c = fill(rows * columns);
            const std::vector<float> before = c;
            kernel(
                {k, a.data(), packed ? 1 : k, packed ? rows : 1, b.data(), columns, c.data(), columns, 2, 0.5F, tail});
            for (std::int64_t i = 0; i < rows; ++i) {
              for (std::int64_t j = 0; j < columns; ++j) {
                double sum = 0;
                for (std::int64_t p = 0; p < k; ++p) {
                  sum += static_cast<double>(a[static_cast<std::size_t>(packed ? p * rows + i : i * k + p)]) *
                         b[static_cast<std::size_t>(p * columns + j)];
                }
                const auto place = static_cast<std::size_t>(i * columns + j);
                ASSERT_NEAR(c[place], 2 * sum + 0.5 * before[place], 1e-5)
                    << set->name << ' ' << rows << 'x' << vectors << " packed " << packed << " variant " << variant;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::gemm
