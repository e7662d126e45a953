# hone_embed_kernel(NAMESPACE FILE): makes the text of a GPU kernel, with the headers of hone's that it includes in their
# places, what NAMESPACE::source() returns.
function(hone_embed_kernel namespace file)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"([^\"]+)\"" "\\1" header "${include}")
    file(READ ${PROJECT_SOURCE_DIR}/${header} content)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    string(REPLACE "#pragma once\n" "" content "${content}")
    string(REPLACE "${include}" "${content}" text "${text}")
  endforeach()
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
