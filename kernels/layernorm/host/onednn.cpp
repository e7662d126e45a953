#include "kernels/host/onednn.hpp"

#include "kernels/layernorm/host/solvers.hpp"
#include "kernels/layernorm/reference.hpp"

namespace hone::layernorm::host {
namespace {

using namespace hone::host;
using dnnl::memory;

struct Plan {
  memory::desc rows, row;
  dnnl::layer_normalization_forward::primitive_desc primitive;
};

Plan plan_for(const Problem& p) {
  using Flags = dnnl::normalization_flags;
  Plan plan{{{p.rows, p.columns}, memory::data_type::f32, memory::dims{p.columns, 1}},
            {{p.columns}, memory::data_type::f32, memory::dims{1}},
            {}};
  const Flags flags = (p.gain ? Flags::use_scale : Flags::none) | (p.shift ? Flags::use_shift : Flags::none);
  const OneThread one;
  plan.primitive = dnnl::layer_normalization_forward::primitive_desc(
      dnnl::layer_normalization_forward::desc(dnnl::prop_kind::forward_inference, plan.rows, p.epsilon, flags),
      onednn_attributes(), onednn_engine());
  return plan;
}

class OneDnn final : public LayernormSolver {
 public:
  std::string_view id() const noexcept override { return "onednn"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (p.type != f32) return "this solver's type is f32";
    if (p.root_mean_square) return "oneDNN always takes the mean: root_mean_square must be false";
    // oneDNN 2.6 takes a description with gaps, and writes into them.
    if (!layout_of(p).dense()) return "oneDNN takes dense rows only: stride_x and stride_y must be 0 or columns";
    return refuse_device(device);
  }

  std::size_t workspace(const Problem& p, const Configuration&) const override {
    return plan_for(p).primitive.scratchpad_desc().get_size();
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    const Plan plan = plan_for(p);
    std::vector<OneDnnOperand> operands = {{DNNL_ARG_SRC, 0, plan.rows}, {DNNL_ARG_DST, 1, plan.rows}};
    if (p.gain) operands.push_back({DNNL_ARG_SCALE, 2, plan.row});
    if (p.shift) operands.push_back({DNNL_ARG_SHIFT, 3, plan.row});
    return make_onednn_invoker(dnnl::layer_normalization_forward(plan.primitive), plan.primitive.scratchpad_desc(),
                               std::move(operands));
  }
};

}  // namespace

std::shared_ptr<const LayernormSolver> onednn(Facts& facts) {
  add_onednn_facts(facts);
  return std::make_shared<const OneDnn>();
}

}  // namespace hone::layernorm::host
