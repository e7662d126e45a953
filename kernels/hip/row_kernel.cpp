#include "kernels/hip/row_kernel.hpp"

#include <algorithm>
#include <limits>

#include "kernels/hip/definitions.hpp"

namespace hone::hip {
namespace {

constexpr std::int64_t least_row_items = 16;
constexpr std::int64_t precompiled_row_items = 256;
// A load is of 16 bytes at most.
constexpr std::int64_t max_load_bytes = 16;

KernelLaunch launch_of(std::string_view kernel, std::int64_t rows, std::int64_t row_items, std::int64_t group_rows) {
  return {.kernel = kernel,
          .groups = {static_cast<std::uint32_t>((rows + group_rows - 1) / group_rows), 1, 1},
          .work_group = static_cast<std::uint32_t>(row_items * group_rows)};
}

}  // namespace

Refusal refuse_rows(const RowLayout& layout) {
  // Work-items of a launch are counted in 32 bits, with up to 256 for a row of the kernel that is compiled with hone.
  if (layout.rows > (std::int64_t{1} << 23)) return "this kernel takes a field rows of at most 2^23";
  if (layout.columns > (std::int64_t{1} << 30)) return "this kernel takes a field columns of at most 2^30";
  return {};
}

SearchSpace row_search_space(const RowLayout& layout, DataType type, const DeviceLimits& limits) {
  SearchSpace space;
  space.power_of_two("row_items", least_row_items, 1024).power_of_two("rows", 1, 8);
  space.power_of_two("vector", 1, 8).power_of_two("unroll", 1, 8);
  space.rule({"row_items", "rows"}, [limits](std::span<const std::int64_t> v) {
    return v[0] * v[1] <= limits.max_work_group && v[0] * v[1] % limits.wave_size == 0;
  });
  space.rule({"vector"}, [size = static_cast<std::int64_t>(size_of(type))](std::span<const std::int64_t> v) {
    return v[0] * size <= max_load_bytes;
  });
  space.rule({"row_items", "rows", "vector"}, [layout, limits](std::span<const std::int64_t> v) {
    const bool smallest = v[0] * v[1] == limits.wave_size;
    const bool columns_left = v[0] * v[2] / 2 < layout.columns || (smallest && v[2] == 1);
    return columns_left && (v[1] / 2 < layout.rows || smallest);
  });
  return space;
}

Configuration default_row_configuration(const RowLayout& layout, DataType type, const DeviceLimits& limits) {
  std::int64_t row_items = limits.wave_size;
  while (row_items < 256 && row_items < layout.columns) row_items *= 2;
  std::int64_t vector = 1;
  while (vector < 4 && 2 * vector * static_cast<std::int64_t>(size_of(type)) <= max_load_bytes &&
         row_items * vector < layout.columns) {
    vector *= 2;
  }
  return row_search_space(layout, type, limits).configuration({row_items, 1, vector, 2});
}

std::vector<std::string> row_definitions(DataType type, const Configuration& configuration) {
  static const std::vector<std::string> names = {"row_items", "rows", "vector", "unroll"};
  std::vector<std::string> result = {element_definition(type)};
  add_definitions(result, names, configuration);
  return result;
}

std::int64_t row_local_memory_bytes(const Configuration& configuration) {
  return configuration.at("row_items") * configuration.at("rows") * static_cast<std::int64_t>(sizeof(float));
}

KernelLaunch row_launch(std::string_view kernel, const RowLayout& layout, const Configuration& configuration) {
  return launch_of(kernel, layout.rows, configuration.at("row_items"), configuration.at("rows"));
}

KernelLaunch precompiled_row_launch(std::string_view kernel, const RowLayout& layout) {
  return launch_of(kernel, layout.rows, precompiled_row_items, 1);
}

}  // namespace hone::hip
