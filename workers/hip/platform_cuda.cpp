#include "workers/hip/platform.hpp"

namespace hone::hip {
namespace {

constexpr hipError_t sticky_errors[] = {cudaErrorNvlinkUncorrectable, cudaErrorHardwareStackError,
                                        cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress,
                                        cudaErrorInvalidAddressSpace, cudaErrorInvalidPc};

std::int64_t work_item_registers(std::string_view) noexcept { return 255; }

}  // namespace

constinit const Platform platform{
    .vendor = "nvidia",
    .runtime = "CUDA",
    .facts = "cuda",
    .compute_units = "multiprocessors",
    .compiler = "nvrtc",
    .no_device = "is NVIDIA's driver loaded (nvidia-smi), and not older than this hone's CUDA?",
    .visible_devices = "CUDA_VISIBLE_DEVICES",
    .sticky_errors = sticky_errors,
    .work_item_registers = &work_item_registers,
};

}  // namespace hone::hip
