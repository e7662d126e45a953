// What the compiler says about the kernels of a code object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hone::hip {

// Of one kernel, a work-item's where nothing else is said.
struct KernelFacts {
  std::string name;
  std::int64_t vector_registers = 0;
  std::int64_t scalar_registers = 0;      // of a wave
  std::int64_t spilled_registers = 0;     // vector and scalar ones together
  std::int64_t local_memory_bytes = 0;    // of a work-group
  std::int64_t private_memory_bytes = 0;  // spills and arrays that are not in registers

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

// From the metadata note (MessagePack, code object version 3 and later; "User Guide for AMDGPU Backend" of LLVM) of an
// AMD code object. Throws Error(invalid_option) saying what is wrong where the bytes are none; never reads outside
// them.
std::vector<KernelFacts> read_code_object(std::span<const std::byte> code);

}  // namespace hone::hip
