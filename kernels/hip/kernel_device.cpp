#include "kernels/hip/kernel_device.hpp"

namespace hone::hip {

Refusal refuse_device(const Device& device) {
  const auto* gpu = dynamic_cast<const KernelDevice*>(&device);
  if (gpu == nullptr) return "this solver runs on GPUs only";
  if (!gpu->in_service()) return "the device is out of service";
  return {};
}

}  // namespace hone::hip
