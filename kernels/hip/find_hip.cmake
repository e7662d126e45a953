# The runtime and the run-time compiler of GPUs, HIP's or CUDA's; neither needs a GPU to be compiled against. Sets
#   HONE_HIP_FOUND          whether hone::hip is built
#   HONE_HIP_INCLUDE        where hip/hip_runtime_api.h and hip/hiprtc.h are
#   HONE_HIP_DEFINITIONS    what they want defined
#   HONE_HIP_LIBRARY        the runtime
#   HONE_HIPRTC_LIBRARY     the run-time compiler
#   HONE_HIP_MISSING        what is missing where it is not found
#   HONE_GPU_ARCHITECTURES  what kernels are compiled for with hone
set(HONE_GPU hip CACHE STRING "Whose GPUs hone::hip is for: hip (AMD's) or cuda (NVIDIA's)")
set_property(CACHE HONE_GPU PROPERTY STRINGS hip cuda)
set(HONE_WITH_HIP AUTO CACHE STRING "Build hone::hip: AUTO (where HIP or CUDA is found), ON (an error where it is not) or OFF")
set_property(CACHE HONE_WITH_HIP PROPERTY STRINGS AUTO ON OFF)
set(HONE_HIP_FOUND FALSE)

function(hone_find_hip)
  find_path(HONE_AMD_HIP_INCLUDE hip/hip_runtime_api.h)
  find_library(HONE_AMD_HIP_LIBRARY NAMES amdhip64)
  if(HONE_AMD_HIP_INCLUDE AND HONE_AMD_HIP_LIBRARY)
    set(HONE_HIP_FOUND TRUE PARENT_SCOPE)
    set(HONE_HIP_INCLUDE ${HONE_AMD_HIP_INCLUDE} PARENT_SCOPE)
    set(HONE_HIP_LIBRARY ${HONE_AMD_HIP_LIBRARY} PARENT_SCOPE)
    set(HONE_HIPRTC_LIBRARY ${HONE_AMD_HIP_LIBRARY} PARENT_SCOPE)
  endif()
endfunction()

# CUDA's own names behind HIP's: workers/hip/cuda/hip.
function(hone_find_cuda)
  find_package(CUDAToolkit 12 QUIET)
  if(TARGET CUDA::cudart AND TARGET CUDA::nvrtc)
    # Not the targets: who links an installed hone need not find the toolkit.
    get_target_property(runtime CUDA::cudart IMPORTED_LOCATION)
    get_target_property(compiler CUDA::nvrtc IMPORTED_LOCATION)
    set(HONE_HIP_FOUND TRUE PARENT_SCOPE)
    set(HONE_HIP_INCLUDE ${PROJECT_SOURCE_DIR}/workers/hip/cuda ${CUDAToolkit_INCLUDE_DIRS} PARENT_SCOPE)
    set(HONE_HIP_LIBRARY ${runtime} PARENT_SCOPE)
    set(HONE_HIPRTC_LIBRARY ${compiler} PARENT_SCOPE)
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
      set(HONE_GPU_ARCHITECTURES ${HONE_GPU_ARCHITECTURES} sm_100 sm_120 PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(HONE_GPU STREQUAL hip)
  set(HONE_HIP_DEFINITIONS __HIP_PLATFORM_AMD__=1)
  set(HONE_HIP_MISSING "HIP (Debian: install libamdhip64-dev)")
  set(HONE_GPU_ARCHITECTURES gfx906 gfx908 gfx90a gfx1030)
elseif(HONE_GPU STREQUAL cuda)
  set(HONE_HIP_DEFINITIONS)
  set(HONE_HIP_MISSING "CUDA 12 or later (install its toolkit, or say where it is by -DCUDAToolkit_ROOT)")
  set(HONE_GPU_ARCHITECTURES sm_75 sm_80 sm_86 sm_89 sm_90)
else()
  message(FATAL_ERROR "hone: HONE_GPU is '${HONE_GPU}'; it takes hip or cuda")
endif()
if(NOT HONE_WITH_HIP STREQUAL OFF)
  cmake_language(CALL hone_find_${HONE_GPU})
  if(NOT HONE_HIP_FOUND AND HONE_WITH_HIP STREQUAL ON)
    message(FATAL_ERROR "hone: HONE_WITH_HIP is ON, but there is no ${HONE_HIP_MISSING}")
  elseif(NOT HONE_HIP_FOUND)
    message(STATUS "hone: hone::hip is left out, since there is no ${HONE_HIP_MISSING}")
  endif()
endif()
