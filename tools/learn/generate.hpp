// Problems to be measured for training, drawn from a stated distribution.
#pragma once

#include <cstdint>
#include <hone/problem.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace hone::tools::learn {

struct GenerateOptions {
  std::size_t count = 200;
  std::uint64_t seed = 1;
  double largest_work = 1e8;  // multiplications, or elements of rows, of one problem at most
};

// Different problems of a built-in operation for the host, the same for the same options and `real` on every machine. A
// quarter are neighbours of `real` problems or those themselves, where there are some. The rest:
// gemm: powers of two (m to 512, n and k from 16 to 4096); multiples of 8, 16 or 48; the products of a transformer's
// layer for 1 to 192 tokens and a width of 128 to 1024 (dense ones with bias, activation or residual, and the batched
// ones of attention with strided operands).
// conv2d: layers of residual and of depthwise separable networks for images of 7 to 112, and any small sizes.
// softmax, layernorm: 1 to 4096 rows of 16 to 32768 columns, half of them of a transformer's widths and lengths.
// Throws Error(invalid_option) for another operation.
std::vector<Problem> generate_problems(std::string_view operation, const GenerateOptions& options,
                                       std::span<const Problem> real);

}  // namespace hone::tools::learn
