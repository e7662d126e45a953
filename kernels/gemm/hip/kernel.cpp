#include "kernels/gemm/hip/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <hone/error.hpp>

#include "kernels/gemm/layout.hpp"
#include "kernels/hip/definitions.hpp"
#include "kernels/hip/tiling.hpp"

namespace hone::gemm::hip {
namespace {

using hone::hip::default_registers;
using hone::hip::default_threads;
using hone::hip::first_configuration;
using hone::hip::least_threads;
using hone::hip::tiles;
using hone::hip::useful_tile;

// Sizes count in 32 bits on the device, with room for a tile behind the end.
constexpr std::int64_t max_size = std::int64_t{1} << 30;
// Along x a launch has fewer than 2^32 work-items, along z at most 65535 groups.
constexpr std::int64_t max_work_items = std::int64_t{1} << 31;
constexpr std::int64_t max_groups_z = 65535;
constexpr std::int64_t join_work_group = 256;

// A configuration by name. The order is that of the space.
struct Tiling {
  std::int64_t threads_m, threads_n, register_m, register_n, tile_k, local_a, local_b, stages, padding, vector, unroll,
      split_k;

  explicit Tiling(std::span<const std::int64_t> v)
      : threads_m(v[0]),
        threads_n(v[1]),
        register_m(v[2]),
        register_n(v[3]),
        tile_k(v[4]),
        local_a(v[5]),
        local_b(v[6]),
        stages(v[7]),
        padding(v[8]),
        vector(v[9]),
        unroll(v[10]),
        split_k(v.size() > 11 ? v[11] : 1) {}

  std::int64_t tile_m() const { return threads_m * register_m; }
  std::int64_t tile_n() const { return threads_n * register_n; }
  std::int64_t work_group() const { return threads_m * threads_n; }

  // What a work-item keeps: sums, one step of both operands, what it is loading, and addresses and counters.
  std::int64_t registers() const {
    const std::int64_t staged = (local_a * tile_m() + local_b * tile_n()) * tile_k / work_group();
    return register_m * register_n + register_m + register_n + staged + 40;
  }
  std::int64_t local_bytes(DataType type) const {
    // An operand that does not go through local memory leaves one row.
    const std::int64_t rows_a = local_a != 0 ? stages * tile_k : 1;
    const std::int64_t rows_b = local_b != 0 ? stages * tile_k : 1;
    const std::int64_t elements =
        (local_a != 0 ? rows_a * (tile_m() + padding) : 0) + (local_b != 0 ? rows_b * (tile_n() + padding) : 0);
    return elements * static_cast<std::int64_t>(size_of(type));
  }
};

SearchSpace parameters() {
  SearchSpace space;
  space.power_of_two("threads_m", least_threads, 32).power_of_two("threads_n", least_threads, 32);
  space.power_of_two("register_m", 1, 8).power_of_two("register_n", 1, 8);
  space.power_of_two("tile_k", 8, 32).boolean("local_a").boolean("local_b");
  space.integer("stages", {1, 2}).integer("padding", {0, 1, 4}).power_of_two("vector", 1, 8);
  space.integer("unroll", {1, 4, 8}).power_of_two("split_k", 1, 16);
  return space;
}

const std::vector<std::string> tile_names = {"threads_m", "threads_n", "register_m", "register_n", "tile_k", "local_a",
                                             "local_b",   "stages",    "padding",    "vector",     "unroll"};

void limit_to_device(SearchSpace& space, DataType type, const DeviceLimits& limits) {
  space.rule({"threads_m", "threads_n"}, [limits](std::span<const std::int64_t> v) {
    return v[0] * v[1] <= limits.max_work_group && v[0] * v[1] % limits.wave_size == 0;
  });
  space.rule(tile_names, [limits, type](std::span<const std::int64_t> v) {
    const Tiling tiling(v);
    return tiling.local_bytes(type) <= limits.local_memory_bytes && tiling.registers() <= limits.work_item_registers &&
           tiling.registers() * tiling.work_group() <= limits.work_group_registers;
  });
}

void leave_out_equals(SearchSpace& space, const Problem& p) {
  space.rule({"local_a", "local_b", "stages", "padding", "vector"}, [](std::span<const std::int64_t> v) {
    return v[0] != 0 || v[1] != 0 || (v[2] == 1 && v[3] == 0 && v[4] == 1);
  });
  // A load is of 16 bytes at most; every tile has a multiple of the neighbours.
  space.rule({"vector"}, [size = size_of(p.type)](std::span<const std::int64_t> v) {
    return v[0] * static_cast<std::int64_t>(size) <= 16;
  });
}

void fit_to_problem(SearchSpace& space, const Problem& p) {
  space.rule({"threads_m", "register_m"}, useful_tile(p.m)).rule({"threads_n", "register_n"}, useful_tile(p.n));
  space.rule({"tile_k", "split_k"},
             [k = p.k](std::span<const std::int64_t> v) { return v[1] == 1 || v[1] <= tiles(k, v[0]); });
  space.rule({"split_k"}, [p](std::span<const std::int64_t> v) {
    const std::int64_t limit = p.workspace_limit;
    const std::int64_t part = p.batch * v[0] <= max_groups_z ? p.m * p.n : 0;
    return v[0] == 1 || (part > 0 && part < max_work_items && (limit < 0 || v[0] * p.batch <= limit / 4 / part));
  });
}

}  // namespace

Refusal refuse(const Problem& p) {
  for (const auto& [name, size] : {std::pair("m", p.m), std::pair("n", p.n), std::pair("k", p.k)}) {
    if (size > max_size) return fmt::format("this kernel takes a field {} of at most 2^30", name);
  }
  if (p.batch > max_groups_z) return "this kernel takes a field batch of at most 65535";
  // The smallest tile of the largest work-group.
  if (tiles(p.m, least_threads) * tiles(p.n, least_threads) >= max_work_items / 1024) {
    return "this kernel takes an m and n whose product is below 2^27";
  }
  return {};
}

SearchSpace search_space(const Problem& p, const DeviceLimits& limits) {
  SearchSpace space = parameters();
  limit_to_device(space, p.type, limits);
  leave_out_equals(space, p);
  fit_to_problem(space, p);
  return space;
}

Configuration default_configuration(const Problem& p, const DeviceLimits& limits) {
  const SearchSpace space = search_space(p, limits);
  const std::int64_t threads_m = default_threads(p.m), threads_n = default_threads(p.n);
  for (std::int64_t most = 8; most >= 1; most /= 2) {
    const std::int64_t register_m = default_registers(p.m, most), register_n = default_registers(p.n, most);
    const std::int64_t groups = tiles(p.m, threads_m * register_m) * tiles(p.n, threads_n * register_n) * p.batch;
    // Large tiles read least, but a GPU with little to do at a time wants more of them, and parts of long products.
    if (most > 2 && groups < 64) continue;
    std::int64_t split_k = 1;
    while (split_k < 16 && groups * split_k < 64 && p.k / (2 * split_k) >= 128) split_k *= 2;
    for (; split_k >= 1; split_k /= 2) {
      for (const std::int64_t vector : {4, 2, 1}) {
        const std::int64_t values[] = {threads_m, threads_n, register_m, register_n, 16, 1,
                                       1,         2,         4,          vector,     8,  split_k};
        try {
          return space.configuration({std::begin(values), std::end(values)});
        } catch (const Error&) {
          // Outside: the next one is smaller.
        }
      }
    }
  }
  return first_configuration(space, "gemm");
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
      fmt::format("-DTRANSPOSE_A={:d}", p.transpose_a),
      fmt::format("-DTRANSPOSE_B={:d}", p.transpose_b),
      fmt::format("-DBIAS={:d}", p.bias),
      fmt::format("-DACTIVATION={}", static_cast<int>(p.activation)),
      fmt::format("-DSPLIT={:d}", configuration.at("split_k") > 1),
      fmt::format("-DJOIN_WORK_GROUP={}", join_work_group),
  };
  hone::hip::add_definitions(result, tile_names, configuration);
  return result;
}

std::size_t workspace(const Problem& p, const Configuration& configuration) {
  const std::int64_t split_k = configuration.at("split_k");
  return split_k > 1 ? static_cast<std::size_t>(split_k * p.batch * p.m * p.n) * sizeof(float) : 0;
}

std::vector<KernelLaunch> launches(const Problem& p, const Configuration& configuration) {
  const Tiling tiling(configuration.values());
  const auto groups = [](std::int64_t count) { return static_cast<std::uint32_t>(count); };
  std::vector<KernelLaunch> result = {{.kernel = "gemm",
                                       .groups = {groups(tiles(p.m, tiling.tile_m()) * tiles(p.n, tiling.tile_n())), 1,
                                                  groups(p.batch * tiling.split_k)},
                                       .work_group = groups(tiling.work_group())}};
  if (tiling.split_k > 1) {
    result.push_back({.kernel = "gemm_join",
                      .groups = {groups(tiles(p.m * p.n, join_work_group)), 1, groups(p.batch)},
                      .work_group = groups(join_work_group)});
  }
  return result;
}

Arguments arguments(const Problem& p, const Configuration& configuration, const hone::Arguments& operands,
                    void* scratch) noexcept {
  const Layout layout = layout_of(p);
  return {.a = operands.get<const void>(0),
          .b = operands.get<const void>(1),
          .c = operands.get<void>(2),
          .bias = operands.get<const void>(3),
          .parts = static_cast<float*>(scratch),
          .lda = layout.lda,
          .ldb = layout.ldb,
          .ldc = layout.ldc,
          .stride_a = layout.stride_a,
          .stride_b = layout.stride_b,
          .stride_c = layout.stride_c,
          .m = static_cast<int>(p.m),
          .n = static_cast<int>(p.n),
          .k = static_cast<int>(p.k),
          .split_k = static_cast<int>(Tiling(configuration.values()).split_k),
          .alpha = p.alpha,
          .beta = p.beta};
}

}  // namespace hone::gemm::hip
