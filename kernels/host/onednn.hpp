// oneDNN's primitives as invokers.
#pragma once

#include <cstddef>
#include <hone/solver.hpp>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "kernels/host/host_only.hpp"

namespace hone::host {

// While it lives, oneDNN works on the calling thread alone. It asks OpenMP for its thread count; the setting belongs to
// the calling thread and is given back.
class OneThread {
 public:
  OneThread() noexcept;
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread();

 private:
  int before_;
};

dnnl::engine& onednn_engine();

// Attributes of a primitive whose scratch is the stream's.
dnnl::primitive_attr onednn_attributes();

// Adds the library's version and the instruction set that it uses.
void add_onednn_facts(Facts& facts);

// Where a primitive finds one of its arguments: an operand of the launch, or a part of the stream's scratch.
struct OneDnnOperand {
  int argument = 0;       // DNNL_ARG_...
  std::size_t index = 0;  // in the operation's order; in_scratch
  dnnl::memory::desc layout;
  std::size_t offset = 0;  // bytes, of one in the scratch; a multiple of 64

  static constexpr std::size_t in_scratch = static_cast<std::size_t>(-1);
};

// One primitive of a launch.
struct OneDnnStep {
  dnnl::primitive primitive;
  std::vector<OneDnnOperand> operands;
};

// Runs the primitives one after the other on the launching thread with `scratch_bytes` of the stream's scratch. A
// missing operand is Errc::launch_failed.
std::shared_ptr<const Invoker> make_onednn_invoker(std::vector<OneDnnStep> steps, std::size_t scratch_bytes);
// One primitive whose own scratch is all that there is.
std::shared_ptr<const Invoker> make_onednn_invoker(dnnl::primitive primitive, const dnnl::memory::desc& scratch,
                                                   std::vector<OneDnnOperand> operands);

}  // namespace hone::host
