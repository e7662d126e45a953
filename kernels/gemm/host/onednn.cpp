#include <omp.h>

#include <atomic>
#include <hone/error.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "kernels/gemm/host/epilogue.hpp"
#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

using dnnl::memory;

// oneDNN asks OpenMP for its thread count; the setting belongs to the calling thread and is given back.
class OneThread {
 public:
  OneThread() noexcept : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }

 private:
  int before_;
};

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

struct Plan {
  memory::desc a, b, c, bias;
  dnnl::matmul::primitive_desc primitive;
  bool bias_operand = false;  // the product's own
  bool binary_bias = false;   // of a binary operation after it
};

Plan plan_for(const Problem& p) {
  const Layout layout = layout_of(p);
  const auto describe = [&p](std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column,
                             std::int64_t stride) {
    if (p.batch == 1) return memory::desc({rows, columns}, memory::data_type::f32, memory::dims{row, column});
    return memory::desc({p.batch, rows, columns}, memory::data_type::f32, memory::dims{stride, row, column});
  };
  Plan plan;
  plan.a = describe(p.m, p.k, layout.a_row, layout.a_column, layout.stride_a);
  plan.b = describe(p.k, p.n, layout.b_row, layout.b_column, layout.stride_b);
  plan.c = describe(p.m, p.n, layout.ldc, 1, layout.stride_c);
  const memory::dims row = p.batch == 1 ? memory::dims{1, p.n} : memory::dims{1, 1, p.n};
  plan.bias =
      memory::desc(row, memory::data_type::f32, p.batch == 1 ? memory::format_tag::ab : memory::format_tag::abc);

  // oneDNN scales its own bias by alpha; then it is added by a binary operation instead.
  plan.binary_bias = p.bias && p.alpha != 1;
  plan.bias_operand = p.bias && !plan.binary_bias;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (p.alpha != 1) attributes.set_output_scales(0, {p.alpha});
  dnnl::post_ops after;
  if (p.beta != 0) after.append_sum(p.beta);
  if (plan.binary_bias) after.append_binary(dnnl::algorithm::binary_add, plan.bias);
  if (p.activation == Activation::relu) after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  if (p.activation == Activation::gelu) after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_tanh, 0, 0);
  attributes.set_post_ops(after);
  const OneThread one;
  const auto description = plan.bias_operand ? dnnl::matmul::desc(plan.a, plan.b, plan.bias, plan.c)
                                             : dnnl::matmul::desc(plan.a, plan.b, plan.c);
  plan.primitive = dnnl::matmul::primitive_desc(description, attributes, cpu());
  return plan;
}

// What one launch needs at a time; made anew only when several threads launch at once.
struct Launch {
  dnnl::stream stream{cpu()};
  memory a, b, c, bias, scratch;
  std::unordered_map<int, memory> arguments;

  explicit Launch(const Plan& plan)
      : a(plan.a, cpu(), nullptr),
        b(plan.b, cpu(), nullptr),
        c(plan.c, cpu(), nullptr),
        bias(plan.bias, cpu(), nullptr),
        scratch(plan.primitive.scratchpad_desc(), cpu(), nullptr) {
    arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_SCRATCHPAD, scratch}};
    if (plan.binary_bias) {
      const int position = plan.primitive.get_primitive_attr().get_post_ops().kind(0) == dnnl::primitive::kind::sum;
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1, bias);
    }
    if (plan.bias_operand) {
      arguments.emplace(DNNL_ARG_BIAS, bias);
    }
  }
};

class OneDnnInvoker final : public Invoker {
 public:
  OneDnnInvoker(const Problem& problem, Plan plan)
      : problem_(problem),
        plan_(std::move(plan)),
        primitive_(plan_.primitive),
        scratch_bytes_(plan_.primitive.scratchpad_desc().get_size()),
        spare_(new Launch(plan_)) {}
  OneDnnInvoker(const OneDnnInvoker&) = delete;
  OneDnnInvoker& operator=(const OneDnnInvoker&) = delete;
  ~OneDnnInvoker() override { delete spare_.load(); }

  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept override {
    const Operands operands(problem_, arguments);
    if (!operands.complete(problem_)) return Errc::launch_failed;
    void* scratch = nullptr;
    if (scratch_bytes_ > 0) {
      scratch = stream.scratch(scratch_bytes_);
      if (scratch == nullptr) return Errc::out_of_memory;
    }
    try {
      std::unique_ptr<Launch> launch(spare_.exchange(nullptr, std::memory_order_acquire));
      if (!launch) launch = std::make_unique<Launch>(plan_);
      launch->a.set_data_handle(const_cast<float*>(operands.a));
      launch->b.set_data_handle(const_cast<float*>(operands.b));
      launch->c.set_data_handle(operands.c);
      if (operands.bias) launch->bias.set_data_handle(const_cast<float*>(operands.bias));
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
  Problem problem_;
  Plan plan_;
  dnnl::matmul primitive_;
  std::size_t scratch_bytes_;
  mutable std::atomic<Launch*> spare_;
};

class OneDnn final : public GemmSolver {
 public:
  std::string_view id() const noexcept override { return "onednn"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    // Asking for the size costs a plan, so it is done only where it matters.
    if (p.workspace_limit >= 0 && !within_limit(p, workspace(p, {}))) return workspace_refusal;
    return {};
  }

  std::size_t workspace(const Problem& p, const Configuration&) const override {
    return plan_for(p).primitive.scratchpad_desc().get_size();
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    return std::make_shared<const OneDnnInvoker>(p, plan_for(p));
  }
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

std::shared_ptr<const GemmSolver> onednn(Facts& facts) {
  const dnnl_version_t* version = dnnl::version();
  facts["onednn"] = std::to_string(version->major) + '.' + std::to_string(version->minor) + '.' +
                    std::to_string(version->patch) + " (" + version->hash + ") on " + isa_name();
  return std::make_shared<const OneDnn>();
}

}  // namespace hone::gemm::host
