# Installs the build into a prefix of its own, then configures, builds and runs a project that finds it there.
# Variables: BUILD (hone's build folder), SOURCE (this folder), WORK (scratch), COMPILER.
file(REMOVE_RECURSE ${WORK})

# The settings of whoever runs this are not the consumer's.
execute_process(COMMAND ${CMAKE_COMMAND} -E environment OUTPUT_VARIABLE environment)
string(REGEX MATCHALL "HONE_[A-Z_]+=" settings "${environment}")
foreach(setting IN LISTS settings)
  string(REPLACE "=" "" setting ${setting})
  unset(ENV{${setting}})
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "failed: ${ARGV}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
# Also what is installed finds its libraries by itself.
if(EXISTS ${WORK}/prefix/bin/hone)
  run(${WORK}/prefix/bin/hone --version)
endif()
if(EXISTS ${WORK}/build/gpu_consumer)
  run(${WORK}/build/gpu_consumer)
  # Without any setting: the server may have none.
  execute_process(COMMAND ${WORK}/prefix/libexec/hone-hip-compiler RESULT_VARIABLE result ERROR_VARIABLE words)
  if(NOT words MATCHES "started by programs")
    message(FATAL_ERROR "the installed compiler does not run: ${result} ${words}")
  endif()
endif()
