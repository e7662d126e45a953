#include "kernels/hip/tiling.hpp"

#include <fmt/format.h>

#include <hone/error.hpp>
#include <optional>

namespace hone::hip {

SearchSpace::Predicate useful_tile(std::int64_t size) {
  return [size](std::span<const std::int64_t> v) {
    return v[0] * v[1] / 2 < size || (v[0] == least_threads && v[1] == 1);
  };
}

std::int64_t default_threads(std::int64_t size) noexcept { return size > least_threads ? 16 : least_threads; }

std::int64_t default_registers(std::int64_t size, std::int64_t most) noexcept {
  std::int64_t result = most;
  while (result > 1 && default_threads(size) * result / 2 >= size) result /= 2;
  return result;
}

Configuration first_configuration(const SearchSpace& space, std::string_view kernel) {
  std::optional<Configuration> first;
  space.for_each([&](const Configuration& configuration) {
    first = configuration;
    return false;
  });
  if (first) return *first;
  throw Error(Errc::invalid_option,
              fmt::format("the limits of the device leave no configuration of the {} kernel", kernel));
}

}  // namespace hone::hip
