# hone_inline_includes(FILE RESULT): the text of a GPU kernel with the headers of hone's that it includes in their places,
# and before it what the run-time compiler lacks. The run-time compiler has no files.
function(hone_inline_includes file result)
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  if(HONE_GPU STREQUAL cuda)
    string(PREPEND text "#include \"kernels/hip/cuda/prelude.hip.hpp\"\n#line 1\n")
  endif()
  while(text MATCHES "#include \"([^\"]+)\"")
    set(header ${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_1})
    set(include ${CMAKE_MATCH_0})
    file(READ ${header} content)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    string(REPLACE "#pragma once\n" "" content "${content}")
    string(REPLACE "${include}" "${content}" text "${text}")
  endwhile()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# hone_embed_kernel(NAMESPACE FILE): makes the kernel's text what NAMESPACE::source() returns.
function(hone_embed_kernel namespace file)
  hone_inline_includes(${CMAKE_CURRENT_SOURCE_DIR}/${file} text)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/kernel_source.cpp)
  file(CONFIGURE OUTPUT ${unit} @ONLY CONTENT "#include <string_view>

namespace ${namespace} {
std::string_view source() noexcept {
  return R\"kernel(
${text})kernel\";
}
}  // namespace ${namespace}
")
  target_sources(hone_kernels PRIVATE ${unit})
endfunction()

# hone_precompile_kernel(TARGET NAMESPACE FUNCTION FILE [DEFINITION...]): adds NAMESPACE::FUNCTION to the target, which returns the kernel's
# code for the common architectures, compiled during the build; nothing where there is no compiler. Instrumented builds have none either: the
# compiler that they would run is not theirs.
function(hone_precompile_kernel target namespace function file)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  if(HONE_HIP_FOUND AND NOT HONE_SANITIZE)
    hone_inline_includes(${CMAKE_CURRENT_SOURCE_DIR}/${file} text)
    list(TRANSFORM ARGN PREPEND "#define " OUTPUT_VARIABLE definitions)
    list(JOIN definitions "\n" definitions)
    file(CONFIGURE OUTPUT ${unit}.hip @ONLY CONTENT "${definitions}\n${text}")
    add_custom_command(OUTPUT ${unit}
      COMMAND hone_precompile ${namespace} ${function} ${unit}.hip ${unit} ${HONE_GPU_ARCHITECTURES}
      DEPENDS hone_precompile ${unit}.hip VERBATIM)
    # The target may be another folder's, which does not see this folder's commands.
    string(MAKE_C_IDENTIFIER precompile_${namespace}_${function} name)
    add_custom_target(${name} DEPENDS ${unit})
    add_dependencies(${target} ${name})
    set_source_files_properties(${unit} TARGET_DIRECTORY ${target} PROPERTIES GENERATED TRUE)
  else()
    file(CONFIGURE OUTPUT ${unit} @ONLY CONTENT "#include <cstddef>
#include <span>
#include <string_view>

namespace ${namespace} {
std::span<const std::byte> ${function}(std::string_view) noexcept { return {}; }
}  // namespace ${namespace}
")
  endif()
  target_sources(${target} PRIVATE ${unit})
endfunction()

# hone_precompile_rows(NAMESPACE FILE): NAMESPACE::precompiled_f32 and _f16 for a kernel along rows (rows.hip.hpp), in the
# geometry of precompiled_row_launch.
function(hone_precompile_rows namespace file)
  hone_precompile_kernel(hone_kernels ${namespace} precompiled_f32 ${file}
    "ELEMENT float" "ROW_ITEMS 256" "ROWS 1" "VECTOR 1" "UNROLL 1")
  hone_precompile_kernel(hone_kernels ${namespace} precompiled_f16 ${file}
    "ELEMENT _Float16" "ROW_ITEMS 256" "ROWS 1" "VECTOR 1" "UNROLL 1")
endfunction()
