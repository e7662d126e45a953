#include "tools/learn/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <hone/conv2d.hpp>
#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <hone/layernorm.hpp>
#include <hone/softmax.hpp>
#include <initializer_list>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "tools/built_in_operation.hpp"

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

// The number-th drawing's: the kinds take turns.
Problem gemm_problem(Drawing& draw, std::size_t number) {
  return Problem(number % 4 == 0 ? powers_of_two(draw) : number % 4 == 1 ? multiples(draw) : transformer(draw));
}

// A layer of a network whose images shrink while its channels grow.
conv2d::Problem layer(Drawing& draw) {
  const std::int64_t size = draw.one_of({112, 56, 28, 14, 7});
  const std::int64_t channels = 16 * draw.size(1, 1024 / 16);
  conv2d::Problem p{.channels = channels, .height = size, .width = size, .filters = 16 * draw.size(1, 1024 / 16)};
  const std::int64_t filter = draw.one_of({1, 1, 3, 3, 5});
  p.filter_height = p.filter_width = filter;
  p.pad_height = p.pad_width = filter / 2;
  p.stride_height = p.stride_width = draw.below(5) == 0 ? 2 : 1;
  if (filter > 1 && draw.below(4) == 0) p.groups = p.filters = channels;  // depthwise
  return p;
}

conv2d::Problem small_image(Drawing& draw) {
  conv2d::Problem p{.channels = draw.size(1, 128), .height = draw.size(4, 96), .width = draw.size(4, 96)};
  p.filters = draw.size(1, 128);
  p.filter_height = draw.between(1, 5);
  p.filter_width = draw.between(1, 5);
  p.pad_height = draw.below(p.filter_height);
  p.pad_width = draw.below(p.filter_width);
  p.stride_height = p.stride_width = draw.between(1, 2);
  p.dilation_height = p.dilation_width = draw.below(6) == 0 ? 2 : 1;
  return p;
}

Problem conv2d_problem(Drawing& draw, std::size_t) {
  conv2d::Problem p = draw.below(3) == 0 ? small_image(draw) : layer(draw);
  p.batch = draw.below(3) == 0 ? draw.size(1, 16) : 1;
  p.layout = draw.below(2) == 0 ? conv2d::ImageLayout::nchw : conv2d::ImageLayout::nhwc;
  p.bias = draw.below(2) == 0;
  if (draw.below(2) == 0) p.activation = Activation::relu;
  return Problem(p);
}

// Rows and columns.
std::pair<std::int64_t, std::int64_t> rows_of(Drawing& draw) {
  const std::int64_t rows = draw.size(1, 4096);
  if (draw.below(2) == 0) return {rows, draw.size(16, 32768)};
  return {rows, 64 * draw.size(1, 64)};
}

Problem softmax_problem(Drawing& draw, std::size_t) {
  const auto [rows, columns] = rows_of(draw);
  softmax::Problem p{.rows = rows, .columns = columns};
  if (draw.below(3) == 0) p.scale = 0.125F;
  p.logarithm = draw.below(4) == 0;
  return Problem(p);
}

Problem layernorm_problem(Drawing& draw, std::size_t) {
  const auto [rows, columns] = rows_of(draw);
  layernorm::Problem p{.rows = rows, .columns = columns};
  p.root_mean_square = draw.below(3) == 0;
  p.shift = !p.root_mean_square;
  return Problem(p);
}

double work_of(const Problem& problem) {
  const auto product = [](std::initializer_list<std::int64_t> sizes) {
    double work = 1;
    for (const std::int64_t size : sizes) work *= static_cast<double>(size);
    return work;
  };
  if (problem.operation() == gemm::Problem::operation) {
    const auto p = problem.as<gemm::Problem>();
    return product({p.m, p.n, p.k, p.batch});
  }
  if (problem.operation() == conv2d::Problem::operation) {
    const auto p = problem.as<conv2d::Problem>();
    // Of the outputs, at most as many as the padded image has positions for.
    return product({p.batch, p.filters, (p.height + 2 * p.pad_height) / p.stride_height,
                    (p.width + 2 * p.pad_width) / p.stride_width, p.channels / p.groups, p.filter_height,
                    p.filter_width});
  }
  if (problem.operation() == softmax::Problem::operation) {
    const auto p = problem.as<softmax::Problem>();
    return product({p.rows, p.columns});
  }
  const auto p = problem.as<layernorm::Problem>();
  return product({p.rows, p.columns});
}

struct Generator {
  std::string_view operation;
  Problem (*draw)(Drawing&, std::size_t number);
};
constexpr Generator generators[] = {{"gemm", &gemm_problem},
                                    {"conv2d", &conv2d_problem},
                                    {"softmax", &softmax_problem},
                                    {"layernorm", &layernorm_problem}};

const Generator& generator_of(std::string_view operation) {
  std::string known;
  for (const Generator& generator : generators) {
    if (generator.operation == operation) return generator;
    known += (known.empty() ? "" : ", ") + std::string(generator.operation);
  }
  throw Error(Errc::invalid_option, fmt::format("problems of {} cannot be drawn, only of {}", operation, known));
}

// One of the real problems, or a product like it.
Problem neighbour(Drawing& draw, std::span<const Problem> real) {
  const Problem& found = real[static_cast<std::size_t>(draw.below(std::ssize(real)))];
  if (found.operation() != gemm::Problem::operation || draw.below(3) == 0) return found;
  auto problem = found.as<gemm::Problem>();
  // Moving m is always possible where A and C are stored row by row and densely, one after the other.
  if (problem.batch != 1 || problem.transpose_a) return found;
  problem.m = std::max<std::int64_t>(1, problem.m + draw.between(-problem.m / 4 - 1, problem.m / 4 + 1));
  return Problem(problem);
}

}  // namespace

std::vector<Problem> generate_problems(std::string_view operation, const GenerateOptions& options,
                                       std::span<const Problem> real) {
  const Generator& generator = generator_of(operation);
  const auto valid = built_in_operation(std::string(operation));
  Drawing draw(options.seed);
  std::vector<Problem> problems;
  std::set<ProblemKey> keys;
  // A narrow distribution may run out of different problems.
  const std::size_t most_draws = 100 * options.count + 1000;
  for (std::size_t drawn = 0; problems.size() < options.count && drawn < most_draws; ++drawn) {
    const Problem problem = drawn % 4 == 3 && !real.empty() ? neighbour(draw, real) : generator.draw(draw, drawn);
    if (work_of(problem) > options.largest_work || valid->validate(problem)) continue;
    if (keys.insert(problem.key()).second) problems.push_back(problem);
  }
  return problems;
}

}  // namespace hone::tools::learn
