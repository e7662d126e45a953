// What every solver for the host shares.
#pragma once

#include <hone/device.hpp>
#include <hone/solver.hpp>
#include <map>
#include <string>

namespace hone::host {

// Facts that solvers add to the environment.
using Facts = std::map<std::string, std::string>;

// Refuses every device but the host.
Refusal refuse_device(const Device& device);

}  // namespace hone::host
