#include "kernels/host/onednn.hpp"

#include "kernels/gemm/host/solvers.hpp"
#include "kernels/gemm/layout.hpp"

namespace hone::gemm::host {
namespace {

using dnnl::memory;
using namespace hone::host;

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
  dnnl::primitive_attr attributes = onednn_attributes();
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
  plan.primitive = dnnl::matmul::primitive_desc(description, attributes, onednn_engine());
  return plan;
}

class OneDnn final : public GemmSolver {
 public:
  std::string_view id() const noexcept override { return "onednn"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    // Asking for the size costs a plan, so it is done only where it matters.
    if (p.workspace_limit >= 0 && !within_limit(p, workspace(p, {}))) return workspace_refusal;
    return {};
  }

  std::size_t workspace(const Problem& p, const Configuration&) const override {
    return plan_for(p).primitive.scratchpad_desc().get_size();
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    const Plan plan = plan_for(p);
    std::vector<OneDnnOperand> operands = {
        {DNNL_ARG_SRC, 0, plan.a}, {DNNL_ARG_WEIGHTS, 1, plan.b}, {DNNL_ARG_DST, 2, plan.c}};
    if (plan.binary_bias) {
      const int position = plan.primitive.get_primitive_attr().get_post_ops().kind(0) == dnnl::primitive::kind::sum;
      operands.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1, 3, plan.bias});
    }
    if (plan.bias_operand) operands.push_back({DNNL_ARG_BIAS, 3, plan.bias});
    return make_onednn_invoker(dnnl::matmul(plan.primitive), plan.primitive.scratchpad_desc(), std::move(operands));
  }
};

}  // namespace

std::shared_ptr<const GemmSolver> onednn(Facts& facts) {
  add_onednn_facts(facts);
  return std::make_shared<const OneDnn>();
}

}  // namespace hone::gemm::host
