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
  std::vector<memory> memories;
  memory scratch;
  std::unordered_map<int, memory> arguments;

  Launch(const memory::desc& scratch_layout, const std::vector<OneDnnOperand>& operands)
      : scratch(scratch_layout, onednn_engine(), nullptr) {
    for (const OneDnnOperand& operand : operands) {
      memories.emplace_back(operand.layout, onednn_engine(), nullptr);
      arguments.emplace(operand.argument, memories.back());
    }
    arguments.emplace(DNNL_ARG_SCRATCHPAD, scratch);
  }
};

class OneDnnInvoker final : public Invoker {
 public:
  OneDnnInvoker(dnnl::primitive primitive, const memory::desc& scratch, std::vector<OneDnnOperand> operands)
      : primitive_(std::move(primitive)),
        scratch_(scratch),
        scratch_bytes_(scratch.get_size()),
        operands_(std::move(operands)),
        spare_(new Launch(scratch_, operands_)) {}
  OneDnnInvoker(const OneDnnInvoker&) = delete;
  OneDnnInvoker& operator=(const OneDnnInvoker&) = delete;
  ~OneDnnInvoker() override { delete spare_.load(); }

  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept override {
    for (const OneDnnOperand& operand : operands_) {
      if (arguments.get<void>(operand.index) == nullptr) return Errc::launch_failed;
    }
    void* scratch = nullptr;
    if (scratch_bytes_ > 0) {
      scratch = stream.scratch(scratch_bytes_);
      if (scratch == nullptr) return Errc::out_of_memory;
    }
    try {
      std::unique_ptr<Launch> launch(spare_.exchange(nullptr, std::memory_order_acquire));
      if (!launch) launch = std::make_unique<Launch>(scratch_, operands_);
      for (std::size_t i = 0; i < operands_.size(); ++i) {
        launch->memories[i].set_data_handle(arguments.get<void>(operands_[i].index));
      }
      launch->scratch.set_data_handle(scratch);
      {
        const OneThread one;
        primitive_.execute(launch->stream, launch->arguments);
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
  dnnl::primitive primitive_;
  memory::desc scratch_;
  std::size_t scratch_bytes_;
  std::vector<OneDnnOperand> operands_;
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

std::shared_ptr<const Invoker> make_onednn_invoker(dnnl::primitive primitive, const memory::desc& scratch,
                                                   std::vector<OneDnnOperand> operands) {
  return std::make_shared<const OneDnnInvoker>(std::move(primitive), scratch, std::move(operands));
}

}  // namespace hone::host
