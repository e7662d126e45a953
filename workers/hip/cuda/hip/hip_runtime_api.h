// The part of HIP's runtime that hone uses, by CUDA's (12 or later): first on the include path where HONE_GPU is cuda.
// Nothing but cudart is linked, and that only looks for the driver when it is called: a program starts without one.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>

using hipError_t = cudaError_t;
inline constexpr hipError_t hipSuccess = cudaSuccess;
inline constexpr hipError_t hipErrorOutOfMemory = cudaErrorMemoryAllocation;
inline constexpr hipError_t hipErrorNotReady = cudaErrorNotReady;
inline constexpr hipError_t hipErrorNotSupported = cudaErrorNotSupported;
inline constexpr hipError_t hipErrorNoDevice = cudaErrorNoDevice;
inline constexpr hipError_t hipErrorInvalidDevice = cudaErrorInvalidDevice;
inline constexpr hipError_t hipErrorDeinitialized = cudaErrorCudartUnloading;
inline constexpr hipError_t hipErrorECCNotCorrectable = cudaErrorECCUncorrectable;
inline constexpr hipError_t hipErrorIllegalAddress = cudaErrorIllegalAddress;
inline constexpr hipError_t hipErrorIllegalState = cudaErrorIllegalState;
inline constexpr hipError_t hipErrorLaunchTimeOut = cudaErrorLaunchTimeout;
inline constexpr hipError_t hipErrorLaunchFailure = cudaErrorLaunchFailure;
inline constexpr hipError_t hipErrorPriorLaunchFailure = cudaErrorPriorLaunchFailure;
inline constexpr hipError_t hipErrorContextIsDestroyed = cudaErrorContextIsDestroyed;
inline constexpr hipError_t hipErrorAssert = cudaErrorAssert;
inline constexpr hipError_t hipErrorUnknown = cudaErrorUnknown;
inline const char* hipGetErrorName(hipError_t error) { return cudaGetErrorName(error); }
inline const char* hipGetErrorString(hipError_t error) { return cudaGetErrorString(error); }

inline hipError_t hipDriverGetVersion(int* version) { return cudaDriverGetVersion(version); }
inline hipError_t hipRuntimeGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

inline hipError_t hipGetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
inline hipError_t hipGetDevice(int* device) { return cudaGetDevice(device); }
inline hipError_t hipSetDevice(int device) { return cudaSetDevice(device); }

// What hone reads of HIP's.
struct hipDeviceProp_t {
  char gcnArchName[256];  // "sm_90"
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int multiProcessorCount;
  int clockRate;
  int memoryClockRate;
  int memoryBusWidth;
  int l2CacheSize;
};

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  cudaDeviceProp from{};
  if (const cudaError_t error = cudaGetDeviceProperties(&from, device); error != cudaSuccess) return error;
  *properties = {.gcnArchName = {},
                 .totalGlobalMem = from.totalGlobalMem,
                 .sharedMemPerBlock = from.sharedMemPerBlock,
                 .regsPerBlock = from.regsPerBlock,
                 .warpSize = from.warpSize,
                 .maxThreadsPerBlock = from.maxThreadsPerBlock,
                 .multiProcessorCount = from.multiProcessorCount,
                 .clockRate = 0,
                 .memoryClockRate = 0,
                 .memoryBusWidth = from.memoryBusWidth,
                 .l2CacheSize = from.l2CacheSize};
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "sm_%d%d", from.major, from.minor);
  // CUDA 13 no longer has these among the properties.
  const cudaError_t error = cudaDeviceGetAttribute(&properties->clockRate, cudaDevAttrClockRate, device);
  if (error != cudaSuccess) return error;
  return cudaDeviceGetAttribute(&properties->memoryClockRate, cudaDevAttrMemoryClockRate, device);
}

using hipStream_t = cudaStream_t;
inline constexpr unsigned hipStreamDefault = cudaStreamDefault;
inline constexpr unsigned hipStreamNonBlocking = cudaStreamNonBlocking;
using hipStreamCaptureMode = cudaStreamCaptureMode;
inline constexpr hipStreamCaptureMode hipStreamCaptureModeRelaxed = cudaStreamCaptureModeRelaxed;
inline hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return cudaDeviceGetStreamPriorityRange(least, greatest);
}
inline hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return cudaStreamCreateWithPriority(stream, flags, priority);
}
inline hipError_t hipStreamDestroy(hipStream_t stream) { return cudaStreamDestroy(stream); }
inline hipError_t hipStreamQuery(hipStream_t stream) { return cudaStreamQuery(stream); }
inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return cudaThreadExchangeStreamCaptureMode(mode);
}

using hipEvent_t = cudaEvent_t;
inline constexpr unsigned hipEventDefault = cudaEventDefault;
inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
inline hipError_t hipEventDestroy(hipEvent_t event) { return cudaEventDestroy(event); }
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { return cudaEventRecord(event, stream); }
inline hipError_t hipEventQuery(hipEvent_t event) { return cudaEventQuery(event); }
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return cudaEventElapsedTime(milliseconds, start, stop);
}

using hipMemcpyKind = cudaMemcpyKind;
inline constexpr hipMemcpyKind hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
inline constexpr hipMemcpyKind hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
inline hipError_t hipMalloc(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
inline hipError_t hipFree(void* memory) { return cudaFree(memory); }
inline hipError_t hipMallocAsync(void** memory, std::size_t bytes, hipStream_t stream) {
  return cudaMallocAsync(memory, bytes, stream);
}
inline hipError_t hipFreeAsync(void* memory, hipStream_t stream) { return cudaFreeAsync(memory, stream); }
inline hipError_t hipMemcpyAsync(void* target, const void* source, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t stream) {
  return cudaMemcpyAsync(target, source, bytes, kind, stream);
}

#include "driver_modules.h"
