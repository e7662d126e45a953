// The functions of HIP's runtime that hone calls, with the library's names.
#include <elf.h>

#include <cstring>
#include <string>
#include <utility>

#include "tests/support/hip_runtime/emulated_state.hpp"

namespace {

using hone::test::EmulatedHip;
using hone::test::EmulatedLaunch;
using hone::test::HipFault;
using State = EmulatedHip::State;

thread_local int current_device = 0;
thread_local hipStreamCaptureMode capture_mode = hipStreamCaptureModeGlobal;

State& state() { return EmulatedHip::get().state(); }

// True when the call would break a capture, and breaks it.
bool breaks_a_capture() {
  const std::lock_guard lock(state().mutex);
  bool broken = false;
  for (ihipStream_t* stream : state().streams) {
    if (!stream->captured || stream->mode != hipStreamCaptureModeGlobal) continue;
    if (capture_mode == hipStreamCaptureModeRelaxed) continue;
    stream->broken = broken = true;
  }
  return broken;
}

bool captured(ihipStream_t& stream) {
  const std::lock_guard lock(state().mutex);
  return stream.captured;
}

// What reads a captured stream breaks its capture.
bool breaks_the_capture_of(ihipStream_t& stream) {
  const std::lock_guard lock(state().mutex);
  if (stream.captured) stream.broken = true;
  return stream.captured;
}

void fail_for_good(hipError_t error) {
  const std::lock_guard lock(state().mutex);
  state().sticky = error;
}

void run_kernel(const ihipModuleSymbol_t& kernel, const EmulatedLaunch& launch) {
  if (state().meets(HipFault::illegal_address)) return fail_for_good(hipErrorIllegalAddress);
  if (state().meets(HipFault::hang)) {
    std::unique_lock lock(state().mutex);
    state().hang_ends.wait(lock, [] { return state().hangs_end; });
    return;
  }
  const State::Access access;
  kernel.run(launch);
}

hipError_t copy(void* target, const void* source, std::size_t bytes, hipMemcpyKind kind) {
  const State::Access access;
  {
    const std::lock_guard lock(state().mutex);
    const void* on_device = kind == hipMemcpyHostToDevice ? target : source;
    if (!state().owns(on_device, bytes)) {
      state().complaints.emplace_back("a copy leaves the device memory that was allocated");
      state().sticky = hipErrorIllegalAddress;
      return state().sticky;
    }
  }
  std::memcpy(target, source, bytes);
  return hipSuccess;
}

}  // namespace

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "hipSuccess";
    case hipErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case hipErrorNoDevice:
      return "hipErrorNoDevice";
    case hipErrorIllegalAddress:
      return "hipErrorIllegalAddress";
    default:
      return "hipErrorOfAnotherName";
  }
}

const char* hipGetErrorString(hipError_t error) {
  switch (error) {
    case hipErrorOutOfMemory:
      return "out of memory";
    case hipErrorNoDevice:
      return "no ROCm-capable device is detected";
    case hipErrorIllegalAddress:
      return "an illegal memory access was encountered";
    default:
      return "an error of the emulated runtime";
  }
}

hipError_t hipGetDeviceCount(int* count) {
  if (const hipError_t error = state().enter("hipGetDeviceCount")) return error;
  const std::lock_guard lock(state().mutex);
  *count = state().devices;
  return state().devices > 0 ? hipSuccess : hipErrorNoDevice;
}

hipError_t hipGetDevice(int* device) {
  *device = current_device;
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  if (const hipError_t error = state().enter("hipSetDevice")) return error;
  current_device = device;
  return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return hipSuccess;
}

hipError_t hipDriverGetVersion(int* version) {
  *version = 50202;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) {
  *version = 50202;
  return hipSuccess;
}

// As some drivers do: no name.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int) {
  if (const hipError_t error = state().enter("hipGetDeviceProperties")) return error;
  *properties = {};
  std::strcpy(properties->gcnArchName, "gfx90a:sramecc+:xnack-");
  properties->totalGlobalMem = std::size_t{1} << 30;
  properties->sharedMemPerBlock = 65536;
  properties->regsPerBlock = 65536;
  properties->warpSize = 64;
  properties->maxThreadsPerBlock = 1024;
  properties->clockRate = 1700000;
  properties->memoryClockRate = 1600000;
  properties->memoryBusWidth = 4096;
  properties->multiProcessorCount = 104;
  properties->l2CacheSize = 1 << 16;
  return hipSuccess;
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 1;
  *greatest = -1;
  return hipSuccess;
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  if (const hipError_t error = state().enter("hipStreamCreateWithPriority")) return error;
  *stream = new ihipStream_t(flags, priority);
  const std::lock_guard lock(state().mutex);
  state().streams.insert(*stream);
  state().last_priority = priority;
  state().last_flags = flags;
  return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().streams.erase(stream) == 0) {
      state().complaints.emplace_back("a stream was destroyed that does not exist");
      return hipErrorInvalidHandle;
    }
  }
  delete stream;
  return hipSuccess;
}

hipError_t hipStreamQuery(hipStream_t stream) {
  if (const hipError_t error = state().enter("hipStreamQuery")) return error;
  ihipStream_t& queried = state().stream_of(stream);
  if (breaks_the_capture_of(queried) || breaks_a_capture()) return hipErrorStreamCaptureUnsupported;
  if (!queried.idle()) return hipErrorNotReady;
  const std::lock_guard lock(state().mutex);
  return state().sticky;  // what its work has met
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  ihipStream_t& begun = state().stream_of(stream);
  const std::lock_guard lock(state().mutex);
  begun.captured = true;
  begun.broken = false;
  begun.mode = mode;
  return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  ihipStream_t& ended = state().stream_of(stream);
  const std::lock_guard lock(state().mutex);
  *graph = nullptr;
  ended.captured = false;
  return ended.broken ? hipErrorStreamCaptureInvalidated : hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  if (const hipError_t error = state().enter("hipEventCreateWithFlags")) return error;
  *event = new ihipEvent_t;
  return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event) {
  delete event;
  return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  if (const hipError_t error = state().enter("hipEventRecord")) return error;
  {
    const std::lock_guard lock(event->recorded->mutex);
    ++event->recorded->recordings;
  }
  state().stream_of(stream).enqueue([recorded = event->recorded] {
    const std::lock_guard lock(recorded->mutex);
    --recorded->recordings;
    recorded->reached = true;
    recorded->time = std::chrono::steady_clock::now();
  });
  return hipSuccess;
}

hipError_t hipEventQuery(hipEvent_t event) {
  if (const hipError_t error = state().enter("hipEventQuery")) return error;
  if (breaks_a_capture()) return hipErrorStreamCaptureUnsupported;
  const std::lock_guard lock(event->recorded->mutex);
  return event->recorded->recordings > 0 ? hipErrorNotReady : hipSuccess;
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (const hipError_t error = state().enter("hipEventElapsedTime")) return error;
  const std::scoped_lock lock(start->recorded->mutex, stop->recorded->mutex);
  if (!start->recorded->reached || !stop->recorded->reached) return hipErrorInvalidHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(stop->recorded->time - start->recorded->time).count();
  if (state().meets(HipFault::clock_backwards)) *milliseconds = -1;
  if (state().meets(HipFault::clock_stands)) *milliseconds = 0;
  if (state().meets(HipFault::clock_races)) *milliseconds = 1e9F;
  return hipSuccess;
}

hipError_t hipMalloc(void** memory, std::size_t bytes) {
  if (const hipError_t error = state().enter("hipMalloc")) return error;
  if (breaks_a_capture()) return hipErrorStreamCaptureUnsupported;
  if (state().meets(HipFault::out_of_memory)) return hipErrorOutOfMemory;
  *memory = state().allocate(bytes);
  return *memory != nullptr ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipFree(void* memory) {
  if (const hipError_t error = state().enter("hipFree")) return error;
  if (breaks_a_capture()) return hipErrorStreamCaptureUnsupported;
  std::set<ihipStream_t*> streams;
  {
    const std::lock_guard lock(state().mutex);
    streams = state().streams;
  }
  for (ihipStream_t* stream : streams) stream->wait();
  state().release(memory);
  return hipSuccess;
}

hipError_t hipMallocAsync(void** memory, std::size_t bytes, hipStream_t stream) {
  if (const hipError_t error = state().enter("hipMallocAsync")) return error;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().pools) return hipErrorNotSupported;
  }
  state().stream_of(stream);
  if (breaks_a_capture()) return hipErrorStreamCaptureUnsupported;
  if (state().meets(HipFault::out_of_memory)) return hipErrorOutOfMemory;
  *memory = state().allocate(bytes);
  return *memory != nullptr ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipFreeAsync(void* memory, hipStream_t stream) {
  if (const hipError_t error = state().enter("hipFreeAsync")) return error;
  state().stream_of(stream).enqueue([memory] { state().release(memory); });
  return hipSuccess;
}

hipError_t hipMemcpyAsync(void* target, const void* source, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  if (const hipError_t error = state().enter("hipMemcpyAsync")) return error;
  state().stream_of(stream).enqueue([=] { static_cast<void>(copy(target, source, bytes, kind)); });
  return hipSuccess;
}

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  if (const hipError_t error = state().enter("hipModuleLoadData")) return error;
  if (breaks_a_capture()) return hipErrorStreamCaptureUnsupported;
  const std::lock_guard lock(state().mutex);
  const auto* text = static_cast<const char*>(image);
  auto found = state().code.find(std::string_view(text));
  if (found == state().code.end() && std::string_view(text).starts_with(ELFMAG)) {
    found = state().code.find(std::string_view(text + sizeof(Elf64_Ehdr)));
  }
  if (found == state().code.end()) return hipErrorNoBinaryForGpu;
  *module = new ihipModule_t{found->second};
  state().modules.insert(*module);
  return hipSuccess;
}

hipError_t hipModuleUnload(hipModule_t module) {
  const std::lock_guard lock(state().mutex);
  if (state().modules.erase(module) == 0) {
    state().complaints.emplace_back("a module was unloaded that is not loaded");
    return hipErrorInvalidHandle;
  }
  delete module;
  return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  const auto found = module->kernels.find(std::string_view(name));
  if (found == module->kernels.end()) return hipErrorNotFound;
  *function = &found->second;
  return hipSuccess;
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                                 unsigned items_x, unsigned items_y, unsigned items_z, unsigned, hipStream_t stream,
                                 void** arguments, void**) {
  if (const hipError_t error = state().enter("hipModuleLaunchKernel")) return error;
  ihipStream_t& target = state().stream_of(stream);
  if (state().meets(HipFault::launch_refused)) return hipErrorLaunchOutOfResources;
  if (items_y != 1 || items_z != 1 || items_x > 1024) return hipErrorInvalidConfiguration;
  if (captured(target)) return hipSuccess;
  const auto* first = static_cast<const std::byte*>(arguments[0]);
  target.enqueue([kernel = *function, argument = std::vector<std::byte>(first, first + function->bytes), groups_x,
                  groups_y, groups_z, items_x] {
    run_kernel(kernel, {{groups_x, groups_y, groups_z}, items_x, argument.data()});
  });
  return hipSuccess;
}

}  // extern "C"
