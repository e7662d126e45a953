#include "kernels/host/onednn.hpp"

#include <omp.h>

#include <atomic>
#include <hone/error.hpp>
#include <new>
#include <unordered_map>
#include <utility>

namespace hone::host {
namespace {

using dnnl::memory;

// What one launch needs at a time; made anew only when several threads launch at once.
struct Launch {
  dnnl::stream stream{onednn_engine()};
  std::vector<std::vector<memory>> memories;  // of each step, in the order of its operands
  std::vector<std::unordered_map<int, memory>> arguments;

  explicit Launch(const std::vector<OneDnnStep>& steps) {
    for (const OneDnnStep& step : steps) {
      auto& step_memories = memories.emplace_back();
      auto& step_arguments = arguments.emplace_back();
      for (const OneDnnOperand& operand : step.operands) {
        step_memories.emplace_back(operand.layout, onednn_engine(), nullptr);
        step_arguments.emplace(operand.argument, step_memories.back());
      }
    }
  }
};

class OneDnnInvoker final : public Invoker {
 public:
  OneDnnInvoker(std::vector<OneDnnStep> steps, std::size_t scratch_bytes)
      : steps_(std::move(steps)), scratch_bytes_(scratch_bytes), spare_(new Launch(steps_)) {}
  OneDnnInvoker(const OneDnnInvoker&) = delete;
  OneDnnInvoker& operator=(const OneDnnInvoker&) = delete;
  ~OneDnnInvoker() override { delete spare_.load(); }

  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept override {
    if (!complete(arguments)) return Errc::launch_failed;
    std::byte* scratch = nullptr;
    if (scratch_bytes_ > 0) {
      scratch = static_cast<std::byte*>(stream.scratch(scratch_bytes_));
      if (scratch == nullptr) return Errc::out_of_memory;
    }
    try {
      std::unique_ptr<Launch> launch(spare_.exchange(nullptr, std::memory_order_acquire));
      if (!launch) launch = std::make_unique<Launch>(steps_);
      {
        const OneThread one;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
          place(steps_[i], launch->memories[i], arguments, scratch);
          steps_[i].primitive.execute(launch->stream, launch->arguments[i]);
        }
        launch->stream.wait();
      }
      // The newest is kept: its memory is warm. Releasing makes its fields visible to the next taker.
      launch.reset(spare_.exchange(launch.release(), std::memory_order_acq_rel));
      return {};
    } catch (const std::bad_alloc&) {
      return Errc::out_of_memory;
    } catch (const std::exception&) {
      return Errc::launch_failed;
    }
  }

 private:
  bool complete(const Arguments& arguments) const noexcept {
    for (const OneDnnStep& step : steps_) {
      for (const OneDnnOperand& operand : step.operands) {
        if (operand.index != OneDnnOperand::in_scratch && !arguments.get<void>(operand.index)) return false;
      }
    }
    return true;
  }

  static void place(const OneDnnStep& step, std::vector<memory>& memories, const Arguments& arguments,
                    std::byte* scratch) {
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const OneDnnOperand& operand = step.operands[i];
      memories[i].set_data_handle(operand.index == OneDnnOperand::in_scratch ? scratch + operand.offset
                                                                             : arguments.get<void>(operand.index));
    }
  }

  const std::vector<OneDnnStep> steps_;
  const std::size_t scratch_bytes_;
  mutable std::atomic<Launch*> spare_;
};

std::string isa_name() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2";
    case dnnl::cpu_isa::avx512_core:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_amx";
    default:
      return "isa " + std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa()));
  }
}

}  // namespace

OneThread::OneThread() noexcept : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

dnnl::engine& onednn_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr onednn_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void add_onednn_facts(Facts& facts) {
  const dnnl_version_t* version = dnnl::version();
  facts["onednn"] = std::to_string(version->major) + '.' + std::to_string(version->minor) + '.' +
                    std::to_string(version->patch) + " (" + version->hash + ") on " + isa_name();
}

std::shared_ptr<const Invoker> make_onednn_invoker(std::vector<OneDnnStep> steps, std::size_t scratch_bytes) {
  return std::make_shared<const OneDnnInvoker>(std::move(steps), scratch_bytes);
}

std::shared_ptr<const Invoker> make_onednn_invoker(dnnl::primitive primitive, const memory::desc& scratch,
                                                   std::vector<OneDnnOperand> operands) {
  operands.push_back({DNNL_ARG_SCRATCHPAD, OneDnnOperand::in_scratch, scratch});
  std::vector<OneDnnStep> steps;
  steps.push_back({std::move(primitive), std::move(operands)});
  return make_onednn_invoker(std::move(steps), scratch.get_size());
}

}  // namespace hone::host
