// Elements of floating-point operands on the host.
#pragma once

#include <hone/data_type.hpp>

namespace hone {

// A half-precision number (IEEE 754 binary16); conversions from wider types round to nearest, ties to even.
using Half = _Float16;

// Calls `function` with a null pointer to the C++ type of f32 or f16 and returns what it returns.
template <class Function>
decltype(auto) with_element_type(DataType type, Function function) {
  return type == f16 ? function(static_cast<Half*>(nullptr)) : function(static_cast<float*>(nullptr));
}

}  // namespace hone
