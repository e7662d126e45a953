// How a configuration becomes definitions for the compiler of GPU kernels. Pure functions.
#pragma once

#include <hone/configuration.hpp>
#include <hone/data_type.hpp>
#include <span>
#include <string>
#include <vector>

namespace hone::hip {

// "-DELEMENT=float": the type of a kernel's operands, f32 or f16.
std::string element_definition(DataType type);

// Adds "-DTILE_K=16" for the parameter tile_k, and so on, in the order of the names.
void add_definitions(std::vector<std::string>& definitions, std::span<const std::string> names,
                     const Configuration& configuration);

}  // namespace hone::hip
