#include "kernels/gemm/hip/direct.hpp"

#include <limits>

#include "kernels/gemm/layout.hpp"

namespace hone::gemm::hip {
namespace {

constexpr std::int64_t work_group = 256;
// Along x a launch has fewer than 2^32 work-items, along z at most 65535 groups.
constexpr std::int64_t max_elements = std::int64_t{1} << 31;
constexpr std::int64_t max_batch = 65535;

}  // namespace

std::span<const std::byte> direct_code(DataType type, std::string_view architecture) noexcept {
  return type == f16 ? direct_f16(architecture) : direct_f32(architecture);
}

Refusal refuse_direct(const Problem& p) {
  if (p.batch > max_batch) return "this kernel takes a field batch of at most 65535";
  for (const auto& [name, size] : {std::pair("m", p.m), std::pair("n", p.n), std::pair("k", p.k)}) {
    if (size > std::numeric_limits<int>::max()) return std::string("this kernel takes a field ") + name + " below 2^31";
  }
  if (p.m > max_elements / p.n) return "this kernel takes an m and n whose product is at most 2^31";
  return {};
}

hone::hip::KernelLaunch direct_launch(const Problem& p) {
  const std::int64_t groups = (p.m * p.n + work_group - 1) / work_group;
  return {.kernel = "gemm_direct",
          .groups = {static_cast<std::uint32_t>(groups), 1, static_cast<std::uint32_t>(p.batch)},
          .work_group = static_cast<std::uint32_t>(work_group)};
}

DirectArguments direct_arguments(const Problem& p, const hone::Arguments& operands) noexcept {
  const Layout layout = layout_of(p);
  return {.a = operands.get<const void>(0),
          .b = operands.get<const void>(1),
          .c = operands.get<void>(2),
          .bias = p.bias ? operands.get<const void>(3) : nullptr,
          .a_row = layout.a_row,
          .a_column = layout.a_column,
          .b_row = layout.b_row,
          .b_column = layout.b_column,
          .ldc = layout.ldc,
          .stride_a = layout.stride_a,
          .stride_b = layout.stride_b,
          .stride_c = layout.stride_c,
          .m = static_cast<int>(p.m),
          .n = static_cast<int>(p.n),
          .k = static_cast<int>(p.k),
          .activation = static_cast<int>(p.activation),
          .alpha = p.alpha,
          .beta = p.beta};
}

}  // namespace hone::gemm::hip
