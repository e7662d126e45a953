// HIP's modules by CUDA's driver, whose functions are looked up and not linked. Part of hip_runtime_api.h.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

using hipModule_t = CUmodule;
using hipFunction_t = CUfunction;

namespace hone_cuda {

// Null without a driver.
template <class Function>
Function* entry_point(const char* name) {
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault);
#endif
  return error == cudaSuccess ? reinterpret_cast<Function*>(address) : nullptr;
}

struct Driver {
  decltype(cuCtxGetCurrent)* current_context = entry_point<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent");
  decltype(cuModuleLoadData)* load = entry_point<decltype(cuModuleLoadData)>("cuModuleLoadData");
  decltype(cuModuleUnload)* unload = entry_point<decltype(cuModuleUnload)>("cuModuleUnload");
  decltype(cuModuleGetFunction)* get_function = entry_point<decltype(cuModuleGetFunction)>("cuModuleGetFunction");
  decltype(cuLaunchKernel)* launch = entry_point<decltype(cuLaunchKernel)>("cuLaunchKernel");

  static const Driver& get() {
    static const Driver driver;
    return driver;
  }
};

// The runtime has taken over the driver's numbers, as far as it has a name for them.
inline cudaError_t to_runtime(CUresult result) { return static_cast<cudaError_t>(result); }
static_assert(static_cast<int>(CUDA_SUCCESS) == cudaSuccess);
static_assert(static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY) == cudaErrorMemoryAllocation);
static_assert(static_cast<int>(CUDA_ERROR_NO_BINARY_FOR_GPU) == cudaErrorNoKernelImageForDevice);
static_assert(static_cast<int>(CUDA_ERROR_NOT_FOUND) == cudaErrorSymbolNotFound);
static_assert(static_cast<int>(CUDA_ERROR_ILLEGAL_ADDRESS) == cudaErrorIllegalAddress);
static_assert(static_cast<int>(CUDA_ERROR_LAUNCH_FAILED) == cudaErrorLaunchFailure);
static_assert(static_cast<int>(CUDA_ERROR_UNKNOWN) == cudaErrorUnknown);

// Calls a function of the driver's in the context of the runtime's device. The runtime makes that current when it needs
// it, the driver does not: a thread's first call may be this one.
template <class Function, class... Arguments>
cudaError_t call(Function* function, Arguments... arguments) {
  CUcontext context = nullptr;
  if (function == nullptr || Driver::get().current_context == nullptr) return cudaErrorInsufficientDriver;
  if (Driver::get().current_context(&context) != CUDA_SUCCESS || context == nullptr) {
    int device = 0;
    if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
    if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess) return error;
  }
  return to_runtime(function(arguments...));
}

}  // namespace hone_cuda

inline cudaError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return hone_cuda::call(hone_cuda::Driver::get().load, module, image);
}
inline cudaError_t hipModuleUnload(hipModule_t module) {
  return hone_cuda::call(hone_cuda::Driver::get().unload, module);
}
inline cudaError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return hone_cuda::call(hone_cuda::Driver::get().get_function, function, module, name);
}
inline cudaError_t hipModuleLaunchKernel(hipFunction_t function, unsigned groups_x, unsigned groups_y,
                                         unsigned groups_z, unsigned items_x, unsigned items_y, unsigned items_z,
                                         unsigned shared_bytes, cudaStream_t stream, void** arguments, void** extra) {
  return hone_cuda::call(hone_cuda::Driver::get().launch, function, groups_x, groups_y, groups_z, items_x, items_y,
                         items_z, shared_bytes, stream, arguments, extra);
}
