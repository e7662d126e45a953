#include "workers/hip/platform.hpp"

namespace hone::hip {
namespace {

constexpr hipError_t sticky_errors[] = {hipErrorRuntimeMemory, hipErrorRuntimeOther};

std::int64_t work_item_registers(std::string_view architecture) noexcept {
  // From gfx90a on vector and accumulation registers are one file.
  return architecture == "gfx90a" || architecture.starts_with("gfx94") ? 512 : 256;
}

}  // namespace

constinit const Platform platform{
    .vendor = "amd",
    .runtime = "HIP",
    .facts = "hip",
    .compute_units = "compute units",
    .compiler = "hiprtc",
    .no_device = "is the amdgpu driver loaded, and may this user open /dev/kfd and /dev/dri?",
    .visible_devices = "HIP_VISIBLE_DEVICES",
    .sticky_errors = sticky_errors,
    .work_item_registers = &work_item_registers,
};

}  // namespace hone::hip
