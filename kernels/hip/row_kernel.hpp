// How GPU kernels along rows (rows.hip.hpp) are tuned, compiled and launched. Pure functions.
#pragma once

#include <hone/data_type.hpp>
#include <hone/search_space.hpp>
#include <hone/solver.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/hip/device_limits.hpp"
#include "kernels/hip/kernel_launch.hpp"
#include "kernels/row_layout.hpp"

namespace hone::hip {

// Why no such kernel can run valid rows: sizes beyond its counters.
Refusal refuse_rows(const RowLayout& layout);

// The configurations that a device with these limits can run; without those that leave most work-items idle.
SearchSpace row_search_space(const RowLayout& layout, DataType type, const DeviceLimits& limits);
// Inside the space.
Configuration default_row_configuration(const RowLayout& layout, DataType type, const DeviceLimits& limits);

// Definitions for the compiler, "-DROWS=2".
std::vector<std::string> row_definitions(DataType type, const Configuration& configuration);
// Bytes of local memory of a work-group, exactly.
std::int64_t row_local_memory_bytes(const Configuration& configuration);
// The one launch of `kernel`.
KernelLaunch row_launch(std::string_view kernel, const RowLayout& layout, const Configuration& configuration);
// The same for a kernel that was compiled with hone (CMake's hone_precompile_rows has the numbers, too).
KernelLaunch precompiled_row_launch(std::string_view kernel, const RowLayout& layout);

}  // namespace hone::hip
