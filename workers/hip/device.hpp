// The HIP device with a compiler of the caller's choice, for tests; others use <hone/hip.hpp>.
#pragma once

#include <hone/hip.hpp>
#include <memory>

#include "workers/compile/compiler.hpp"

namespace hone::hip {

// As hip_device.
std::shared_ptr<Device> make_device(int ordinal, const HipOptions& options,
                                    std::unique_ptr<workers::Compiler> compiler);

}  // namespace hone::hip
