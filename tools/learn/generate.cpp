#include "tools/learn/generate.hpp"

#include <algorithm>
#include <cmath>
#include <hone/gemm.hpp>
#include <iterator>
#include <random>
#include <set>

namespace hone::tools::learn {
namespace {

// Standard distributions differ between libraries; these do not.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  // Evenly in the logarithm.
  std::int64_t size(std::int64_t low, std::int64_t high) {
    const double share = static_cast<double>(random_() >> 11) / 9007199254740992.0;
    return std::llround(static_cast<double>(low) *
                        std::pow(static_cast<double>(high) / static_cast<double>(low), share));
  }
  template <std::size_t N>
  std::int64_t one_of(const std::int64_t (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

void decorate(Drawing& draw, gemm::Problem& problem) {
  problem.transpose_b = draw.below(4) == 0;
  problem.bias = draw.below(3) == 0;
  if (problem.bias && draw.below(2) == 0) problem.activation = gemm::Activation::gelu;
  if (!problem.bias && draw.below(4) == 0) problem.activation = gemm::Activation::relu;
  problem.beta = draw.below(4) == 0 ? 1.0F : 0.0F;
}

gemm::Problem powers_of_two(Drawing& draw) {
  gemm::Problem problem{.m = std::int64_t{1} << draw.between(0, 9),
                        .n = std::int64_t{1} << draw.between(4, 12),
                        .k = std::int64_t{1} << draw.between(4, 12)};
  decorate(draw, problem);
  return problem;
}

gemm::Problem multiples(Drawing& draw) {
  const std::int64_t unit = draw.one_of({8, 16, 48});
  gemm::Problem problem{.m = draw.size(1, 512), .n = unit * draw.size(1, 80), .k = unit * draw.size(1, 80)};
  decorate(draw, problem);
  return problem;
}

gemm::Problem transformer(Drawing& draw) {
  const std::int64_t head = draw.one_of({32, 64});
  const std::int64_t heads = draw.one_of({4, 6, 8, 12, 16});
  const std::int64_t width = head * heads, row = 3 * width;
  const std::int64_t tokens = draw.below(2) == 0 ? draw.between(1, 24) * 8 : draw.between(1, 192);
  switch (draw.below(6)) {
    case 0:
      return {.m = tokens, .n = row, .k = width, .bias = true};
    case 1:
      return {.m = tokens,
              .n = tokens,
              .k = head,
              .transpose_b = true,
              .alpha = 1.0F / std::sqrt(static_cast<float>(head)),
              .batch = heads,
              .lda = row,
              .ldb = row,
              .stride_a = head,
              .stride_b = head};
    case 2:
      return {.m = tokens,
              .n = head,
              .k = tokens,
              .batch = heads,
              .ldb = row,
              .ldc = width,
              .stride_b = head,
              .stride_c = head};
    case 3:
      return {.m = tokens, .n = width, .k = width, .beta = 1, .bias = true};
    case 4:
      return {.m = tokens, .n = 4 * width, .k = width, .bias = true, .activation = gemm::Activation::gelu};
    default:
      return {.m = tokens, .n = width, .k = 4 * width, .beta = 1, .bias = true};
  }
}

gemm::Problem neighbour(Drawing& draw, std::span<const Problem> real) {
  if (real.empty()) return transformer(draw);
  auto problem = real[static_cast<std::size_t>(draw.below(std::ssize(real)))].as<gemm::Problem>();
  // Moving m is always possible where A and C are stored row by row and densely, one after the other.
  if (draw.below(3) == 0 || problem.batch != 1 || problem.transpose_a) return problem;
  problem.m = std::max<std::int64_t>(1, problem.m + draw.between(-problem.m / 4 - 1, problem.m / 4 + 1));
  return problem;
}

double work_of(const gemm::Problem& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) * static_cast<double>(p.batch);
}

}  // namespace

std::vector<Problem> generate_gemm(const GenerateOptions& options, std::span<const Problem> real) {
  Drawing draw(options.seed);
  const auto operation = gemm::operation();
  std::vector<Problem> problems;
  std::set<ProblemKey> keys;
  // A narrow distribution may run out of different problems.
  const std::size_t most_draws = 100 * options.count + 1000;
  for (std::size_t drawn = 0; problems.size() < options.count && drawn < most_draws; ++drawn) {
    const gemm::Problem problem = drawn % 4 == 0   ? powers_of_two(draw)
                                  : drawn % 4 == 1 ? multiples(draw)
                                  : drawn % 4 == 2 ? transformer(draw)
                                                   : neighbour(draw, real);
    if (work_of(problem) > options.largest_work) continue;
    const Problem erased(problem);
    if (operation->validate(erased) || !keys.insert(erased.key()).second) continue;
    problems.push_back(erased);
  }
  return problems;
}

}  // namespace hone::tools::learn
