// Problems to be measured for training, drawn from a stated distribution.
#pragma once

#include <cstdint>
#include <hone/problem.hpp>
#include <span>
#include <vector>

namespace hone::tools::learn {

struct GenerateOptions {
  std::size_t count = 200;
  std::uint64_t seed = 1;
  double largest_work = 1e8;  // multiplications of one problem at most
};

// Different matrix products for the host, the same for the same options and `real` on every machine. In equal shares:
// powers of two (m to 512, n and k from 16 to 4096); multiples of 8, 16 or 48; the products of a transformer's layer
// for 1 to 192 tokens and a width of 128 to 1024 (dense ones with bias, activation or residual, and the batched ones of
// attention with strided operands); and neighbours of `real` problems, whose m is moved by up to a quarter, or those
// themselves - of transformer layers again where there are none.
std::vector<Problem> generate_gemm(const GenerateOptions& options, std::span<const Problem> real);

}  // namespace hone::tools::learn
