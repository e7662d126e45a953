// The part of HIP's run-time compiler that hone uses, by CUDA's: first on the include path where HONE_GPU is cuda.
#pragma once

#include <nvrtc.h>

#include <cstddef>

using hiprtcProgram = nvrtcProgram;
using hiprtcResult = nvrtcResult;
inline constexpr hiprtcResult HIPRTC_SUCCESS = NVRTC_SUCCESS;

inline const char* hiprtcGetErrorString(hiprtcResult result) { return nvrtcGetErrorString(result); }
inline hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name, int count,
                                        const char** headers, const char** names) {
  return nvrtcCreateProgram(program, source, name, count, headers, names);
}
inline hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) { return nvrtcDestroyProgram(program); }
inline hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char** options) {
  return nvrtcCompileProgram(program, count, options);
}
inline hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, std::size_t* bytes) {
  return nvrtcGetProgramLogSize(program, bytes);
}
inline hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log) { return nvrtcGetProgramLog(program, log); }
// The device's own code, since nothing is to be compiled again where it is loaded.
inline hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, std::size_t* bytes) {
  return nvrtcGetCUBINSize(program, bytes);
}
inline hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code) { return nvrtcGetCUBIN(program, code); }
