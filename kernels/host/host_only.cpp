#include "kernels/host/host_only.hpp"

namespace hone::host {

Refusal refuse_device(const Device& device) {
  if (device.name() != "host") return "this solver runs on the host device only";
  return {};
}

}  // namespace hone::host
