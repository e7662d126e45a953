# Builds hone::hip, its kernels and the check on a GPU for CUDA, and compiles every kernel's defaults; needs no GPU.
# Variables: SOURCE (hone's), WORK (the build folder), COMPILER, TYPE, WARNINGS (whether they are errors),
# TOOLKIT (the toolkit's version; empty: none), TOOLKIT_ROOT (where it is; may be empty).
if(NOT TOOLKIT)
  message("cuda.builds is skipped: there is no CUDA toolkit, 12 or later (-DCUDAToolkit_ROOT says where it is)")
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "failed: ${ARGV}")
  endif()
endfunction()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK} -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${TYPE}
    -DCUDAToolkit_ROOT=${TOOLKIT_ROOT} -DHONE_GPU=cuda -DHONE_WITH_HIP=ON -DHONE_WARNINGS_AS_ERRORS=${WARNINGS} -DHONE_BUILD_BENCHMARKS=OFF)
run(${CMAKE_COMMAND} --build ${WORK} --target hone_hip compile_kernels gpu_check -j 2)
run(${WORK}/tools/kernels/compile_kernels --defaults --architecture sm_90)
# It links CUDA and starts without a driver.
run(${WORK}/tests/gpu/gpu_check --help)
