#include "kernels/conv2d/hip/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hone/error.hpp>

#include "kernels/conv2d/geometry.hpp"
#include "kernels/hip/definitions.hpp"
#include "kernels/hip/tiling.hpp"

namespace hone::conv2d::hip {
namespace {

using hone::hip::default_registers;
using hone::hip::default_threads;
using hone::hip::first_configuration;
using hone::hip::least_threads;
using hone::hip::tiles;
using hone::hip::useful_tile;

// Elements are counted in 32 bits on the device, with room for a tile behind the end.
constexpr std::int64_t max_elements = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);
// A place outside of an image must stay outside whatever a filter adds to it.
constexpr std::int64_t max_size = std::int64_t{1} << 26;
// Along x a launch has fewer than 2^32 work-items, along z at most 65535 groups.
constexpr std::int64_t max_work_items = std::int64_t{1} << 31;
constexpr std::int64_t max_groups_z = 65535;
constexpr std::int64_t direct_work_group = 256;
// A tile's table of positions: offset, row and column.
constexpr std::int64_t position_bytes = 12;

// A configuration by name. The order is that of the space.
struct Tiling {
  std::int64_t threads_m, threads_n, register_m, register_n, tile_k, local_weights, stages, padding, unroll;

  explicit Tiling(std::span<const std::int64_t> v)
      : threads_m(v[0]),
        threads_n(v[1]),
        register_m(v[2]),
        register_n(v[3]),
        tile_k(v[4]),
        local_weights(v[5]),
        stages(v[6]),
        padding(v[7]),
        unroll(v[8]) {}

  std::int64_t tile_m() const { return threads_m * register_m; }
  std::int64_t tile_n() const { return threads_n * register_n; }
  std::int64_t work_group() const { return threads_m * threads_n; }

  // What a work-item keeps: sums, one step of both operands, what it is loading, and addresses and counters.
  std::int64_t registers() const {
    const std::int64_t staged = (local_weights * tile_m() + tile_n()) * tile_k / work_group();
    return register_m * register_n + register_m + register_n + staged + 48;
  }
  std::int64_t local_bytes(DataType type) const {
    const std::int64_t columns = tile_n() + padding + (local_weights != 0 ? tile_m() + padding : 0);
    return stages * tile_k * columns * static_cast<std::int64_t>(size_of(type)) + tile_n() * position_bytes;
  }
};

const std::vector<std::string> tile_names = {"threads_m",     "threads_n", "register_m", "register_n", "tile_k",
                                             "local_weights", "stages",    "padding",    "unroll"};

std::int64_t positions_of(const Problem& p, const Geometry& g) { return p.batch * g.output_height * g.output_width; }

KernelLaunch launch_of(std::string_view kernel, std::int64_t groups_x, std::int64_t groups_z, std::int64_t work_group) {
  return {.kernel = kernel,
          .groups = {static_cast<std::uint32_t>(groups_x), 1, static_cast<std::uint32_t>(groups_z)},
          .work_group = static_cast<std::uint32_t>(work_group)};
}

}  // namespace

Refusal refuse(const Problem& p) {
  const Geometry g = geometry_of(p);
  for (const auto& [name, count] :
       {std::pair("x", g.x_count), std::pair("weights", g.weights_count), std::pair("y", g.y_count)}) {
    if (count > static_cast<std::size_t>(max_elements)) {
      return fmt::format("this kernel takes an operand {} of less than 2^31 elements", name);
    }
  }
  if (p.height + 2 * p.pad_height > max_size) return "this kernel takes a padded height of at most 2^26";
  if (p.width + 2 * p.pad_width > max_size) return "this kernel takes a padded width of at most 2^26";
  if (p.groups > max_groups_z) return "this kernel takes a field groups of at most 65535";
  // The smallest tile of the largest work-group.
  if (tiles(g.group_filters, least_threads) * tiles(positions_of(p, g), least_threads) >= max_work_items / 1024) {
    return "this kernel takes fewer outputs of a group than 2^27";
  }
  return {};
}

SearchSpace search_space(const Problem& p, const DeviceLimits& limits) {
  const Geometry g = geometry_of(p);
  SearchSpace space;
  space.power_of_two("threads_m", least_threads, 32).power_of_two("threads_n", least_threads, 32);
  space.power_of_two("register_m", 1, 8).power_of_two("register_n", 1, 8);
  space.power_of_two("tile_k", 8, 32).boolean("local_weights").integer("stages", {1, 2});
  space.integer("padding", {0, 1, 4}).integer("unroll", {1, 4, 8});
  space.rule({"threads_m", "threads_n"}, [limits](std::span<const std::int64_t> v) {
    return v[0] * v[1] <= limits.max_work_group && v[0] * v[1] % limits.wave_size == 0;
  });
  space.rule(tile_names, [limits, type = p.type](std::span<const std::int64_t> v) {
    const Tiling tiling(v);
    return tiling.local_bytes(type) <= limits.local_memory_bytes && tiling.registers() <= limits.work_item_registers &&
           tiling.registers() * tiling.work_group() <= limits.work_group_registers;
  });
  space.rule({"threads_m", "register_m"}, useful_tile(g.group_filters));
  space.rule({"threads_n", "register_n"}, useful_tile(positions_of(p, g)));
  return space;
}

Configuration default_configuration(const Problem& p, const DeviceLimits& limits) {
  const Geometry g = geometry_of(p);
  const SearchSpace space = search_space(p, limits);
  const std::int64_t filters = g.group_filters, positions = positions_of(p, g);
  const std::int64_t threads_m = default_threads(filters), threads_n = default_threads(positions);
  for (std::int64_t most = 8; most >= 1; most /= 2) {
    const std::int64_t register_m = default_registers(filters, most), register_n = default_registers(positions, most);
    const std::int64_t groups =
        tiles(filters, threads_m * register_m) * tiles(positions, threads_n * register_n) * p.groups;
    // A GPU with little to do at a time wants more tiles than large ones leave.
    if (most > 2 && groups < 64) continue;
    for (const std::int64_t stages : {2, 1}) {
      try {
        return space.configuration({threads_m, threads_n, register_m, register_n, 16, 1, stages, 4, 4});
      } catch (const Error&) {
        // Outside: the next one is smaller.
      }
    }
  }
  return first_configuration(space, "conv2d");
}

std::int64_t estimated_registers(const Configuration& configuration) {
  return Tiling(configuration.values()).registers();
}

std::int64_t local_memory_bytes(const Problem& p, const Configuration& configuration) {
  return Tiling(configuration.values()).local_bytes(p.type);
}

std::vector<std::string> definitions(const Problem& p, const Configuration& configuration) {
  std::vector<std::string> result = {
      hone::hip::element_definition(p.type),
      fmt::format("-DNHWC={:d}", p.layout == ImageLayout::nhwc),
      fmt::format("-DBIAS={:d}", p.bias),
      fmt::format("-DACTIVATION={}", static_cast<int>(p.activation)),
      fmt::format("-DFILTER_HEIGHT={}", p.filter_height),
      fmt::format("-DFILTER_WIDTH={}", p.filter_width),
  };
  hone::hip::add_definitions(result, tile_names, configuration);
  return result;
}

KernelLaunch tiled_launch(const Problem& p, const Configuration& configuration) {
  const Geometry g = geometry_of(p);
  const Tiling tiling(configuration.values());
  return launch_of("conv2d", tiles(g.group_filters, tiling.tile_m()) * tiles(positions_of(p, g), tiling.tile_n()),
                   p.groups, tiling.work_group());
}

KernelLaunch direct_launch(const Problem& p) {
  const auto outputs = static_cast<std::int64_t>(geometry_of(p).y_count);
  return launch_of("conv2d_direct", tiles(outputs, direct_work_group), 1, direct_work_group);
}

Arguments arguments(const Problem& p, const hone::Arguments& operands) noexcept {
  const Geometry g = geometry_of(p);
  const auto count = [](std::int64_t value) { return static_cast<int>(value); };
  return {.x = operands.get<const void>(0),
          .weights = operands.get<const void>(1),
          .y = operands.get<void>(2),
          .bias = p.bias ? operands.get<const void>(3) : nullptr,
          .x_image = count(g.x.image),
          .x_channel = count(g.x.channel),
          .x_row = count(g.x.row),
          .x_column = count(g.x.column),
          .y_image = count(g.y.image),
          .y_channel = count(g.y.channel),
          .y_position = count(g.y.column),
          .weights_channel = count(g.weights.channel),
          .weights_row = count(g.weights.row),
          .weights_column = count(g.weights.column),
          .height = count(p.height),
          .width = count(p.width),
          .output_width = count(g.output_width),
          .image_positions = count(g.output_height * g.output_width),
          .positions = count(positions_of(p, g)),
          .group_channels = count(g.group_channels),
          .group_filters = count(g.group_filters),
          .taps = count(g.taps(p)),
          .filter_height = count(p.filter_height),
          .filter_width = count(p.filter_width),
          .pad_height = count(p.pad_height),
          .pad_width = count(p.pad_width),
          .stride_height = count(p.stride_height),
          .stride_width = count(p.stride_width),
          .dilation_height = count(p.dilation_height),
          .dilation_width = count(p.dilation_width),
          .groups = count(p.groups),
          .activation = static_cast<int>(p.activation)};
}

}  // namespace hone::conv2d::hip
