#include "tools/kernels/compile_case.hpp"

#include <fmt/format.h>

#include <hone/error.hpp>
#include <sstream>

#include "kernels/conv2d/hip/kernel.hpp"
#include "kernels/covering_sample.hpp"
#include "kernels/gemm/hip/kernel.hpp"
#include "kernels/hip/row_kernel.hpp"
#include "kernels/layernorm/hip/kernel.hpp"
#include "kernels/softmax/hip/kernel.hpp"

namespace hone::tools {
namespace {

constexpr std::size_t sample_size = 200;

CompileCase gemm_case(const gemm::Problem& p, const Configuration& configuration, bool is_default) {
  return {.kernel = "gemm",
          .problem = Problem(p).text(),
          .configuration = configuration.text(),
          .is_default = is_default,
          .source = gemm::hip::source(),
          .definitions = gemm::hip::definitions(p, configuration),
          .launches = gemm::hip::launches(p, configuration),
          .local_memory_bytes = gemm::hip::local_memory_bytes(p, configuration)};
}

// The class of the number-th case: types, transposes, bias and activations in turn.
gemm::Problem gemm_class(std::size_t number) {
  gemm::Problem p{.m = 4096, .n = 4096, .k = 4096};
  p.type = number % 2 == 0 ? f32 : f16;
  p.transpose_a = number / 2 % 2 != 0;
  p.transpose_b = number / 4 % 2 != 0;
  p.bias = number / 8 % 2 != 0;
  p.activation = static_cast<gemm::Activation>(number % 3);
  return p;
}

// Calls `take` with the configurations of a space besides the defaults.
template <class Take>
void for_each(const SearchSpace& space, Extent extent, std::size_t sample, Take take) {
  if (extent == Extent::all) {
    space.for_each([&](const Configuration& configuration) {
      take(configuration);
      return true;
    });
  } else if (extent == Extent::sample) {
    for (const Configuration& configuration : covering_sample(space, sample).configurations) take(configuration);
  }
}

std::vector<CompileCase> gemm_cases(const Target& target, Extent extent) {
  std::vector<CompileCase> cases;
  for (std::size_t number = 0; number < 8; ++number) {
    for (const auto& [m, n, k] :
         {std::tuple(4096, 4096, 4096), std::tuple(16, 4096, 4096), std::tuple(64, 64, 16384)}) {
      gemm::Problem p = gemm_class(number);
      p.m = m;
      p.n = n;
      p.k = k;
      cases.push_back(gemm_case(p, gemm::hip::default_configuration(p, target.limits), true));
    }
  }
  // What f32 allows, f16 does too: elements are smaller.
  gemm::Problem widest = gemm_class(1);
  const SearchSpace space = gemm::hip::search_space(widest, target.limits);
  std::size_t number = 0;
  for_each(space, extent, sample_size, [&](const Configuration& configuration) {
    gemm::Problem p = gemm_class(number++);
    if (!gemm::hip::search_space(p, target.limits).contains(configuration)) p.type = f16;
    cases.push_back(gemm_case(p, configuration, false));
  });
  return cases;
}

CompileCase conv2d_case(const conv2d::Problem& p, const Configuration& configuration, bool is_default) {
  return {.kernel = "conv2d",
          .problem = Problem(p).text(),
          .configuration = configuration.text(),
          .is_default = is_default,
          .source = conv2d::hip::source(),
          .definitions = conv2d::hip::definitions(p, configuration),
          .launches = {conv2d::hip::tiled_launch(p, configuration)},
          .local_memory_bytes = conv2d::hip::local_memory_bytes(p, configuration)};
}

// The class of the number-th case: types, layouts, filters, bias and activations in turn.
conv2d::Problem conv2d_class(std::size_t number) {
  conv2d::Problem p{.batch = 32, .channels = 256, .height = 56, .width = 56, .filters = 512};
  constexpr std::int64_t filters[][2] = {{3, 3}, {1, 1}, {7, 7}, {2, 5}, {1, 3}};
  p.filter_height = filters[number % 5][0];
  p.filter_width = filters[number % 5][1];
  p.type = number % 2 == 0 ? f32 : f16;
  p.layout = number / 2 % 2 == 0 ? conv2d::ImageLayout::nchw : conv2d::ImageLayout::nhwc;
  p.bias = number / 4 % 2 != 0;
  p.activation = static_cast<Activation>(number % 3);
  return p;
}

std::vector<CompileCase> conv2d_cases(const Target& target, Extent extent) {
  std::vector<CompileCase> cases;
  for (std::size_t number = 0; number < 20; ++number) {
    for (const std::int64_t filters : {8, 512}) {
      conv2d::Problem p = conv2d_class(number);
      p.filters = filters;
      cases.push_back(conv2d_case(p, conv2d::hip::default_configuration(p, target.limits), true));
    }
  }
  // What f32 allows, f16 does too: elements are smaller.
  const SearchSpace space = conv2d::hip::search_space(conv2d_class(1), target.limits);
  std::size_t number = 0;
  for_each(space, extent, sample_size, [&](const Configuration& configuration) {
    conv2d::Problem p = conv2d_class(number++);
    if (!conv2d::hip::search_space(p, target.limits).contains(configuration)) p.type = f16;
    cases.push_back(conv2d_case(p, configuration, false));
  });
  return cases;
}

// Of a kernel along rows: the defaults of short and long rows, and a sample or all of the space.
std::vector<CompileCase> row_cases(std::string_view kernel, std::string_view source, const Target& target,
                                   Extent extent) {
  std::vector<CompileCase> cases;
  const auto add = [&](const RowLayout& layout, DataType type, const Configuration& configuration, bool is_default) {
    cases.push_back({.kernel = std::string(kernel),
                     .problem = fmt::format("{} x {} {}", layout.rows, layout.columns, type == f16 ? "f16" : "f32"),
                     .configuration = configuration.text(),
                     .is_default = is_default,
                     .source = source,
                     .definitions = hip::row_definitions(type, configuration),
                     .launches = {hip::row_launch(kernel, layout, configuration)},
                     .local_memory_bytes = hip::row_local_memory_bytes(configuration)});
  };
  for (const DataType type : {f32, f16}) {
    for (const std::int64_t columns : {40, 384, 50257}) {
      const RowLayout layout = row_layout(4096, columns, 0, 0);
      add(layout, type, hip::default_row_configuration(layout, type, target.limits), true);
    }
    const RowLayout layout = row_layout(4096, 1 << 16, 0, 0);
    const SearchSpace space = hip::row_search_space(layout, type, target.limits);
    for_each(space, extent, sample_size / 2,
             [&](const Configuration& configuration) { add(layout, type, configuration, false); });
  }
  return cases;
}

Target target_of(const std::string& architecture) {
  Target target{.architecture = architecture};
  if (architecture.starts_with("sm_")) {
    target.limits = {.wave_size = 32, .local_memory_bytes = 49152, .work_item_registers = 255};
    target.has_facts = false;
  } else if (architecture == "gfx90a") {
    // Vector and accumulation registers are one file.
    target.limits.work_group_registers = 131072;
    target.limits.work_item_registers = 512;
  } else if (architecture.starts_with("gfx10")) {
    target.limits.wave_size = 32;
  }
  return target;
}

}  // namespace

std::vector<Target> targets() {
  std::vector<Target> result;
  std::istringstream names(HONE_GPU_ARCHITECTURES);
  for (std::string name; names >> name;) result.push_back(target_of(name));
  return result;
}

Target find_target(const std::string& architecture) {
  std::string known;
  for (const Target& target : targets()) {
    if (target.architecture == architecture) return target;
    known += (known.empty() ? "" : ", ") + target.architecture;
  }
  throw Error(Errc::invalid_option, fmt::format("there is no target '{}'; hone compiles for: {}", architecture, known));
}

std::vector<std::string> kernel_names() { return {"gemm", "conv2d", "softmax", "layernorm"}; }

std::vector<CompileCase> compile_cases(const std::string& kernel, const Target& target, Extent extent) {
  if (kernel == "gemm") return gemm_cases(target, extent);
  if (kernel == "conv2d") return conv2d_cases(target, extent);
  if (kernel == "softmax") return row_cases("softmax", softmax::hip::source(), target, extent);
  if (kernel == "layernorm") return row_cases("layernorm", layernorm::hip::source(), target, extent);
  throw Error(Errc::invalid_option,
              fmt::format("there is no kernel '{}'; hone has: {}", kernel, fmt::join(kernel_names(), ", ")));
}

}  // namespace hone::tools
