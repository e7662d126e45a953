#include "kernels/host/onednn.hpp"

#include "kernels/softmax/host/solvers.hpp"
#include "kernels/softmax/reference.hpp"

namespace hone::softmax::host {
namespace {

using namespace hone::host;
using dnnl::memory;

struct Plan {
  memory::desc x, y;
  dnnl::softmax_v2_forward::primitive_desc primitive;
};

Plan plan_for(const Problem& p) {
  const RowLayout layout = layout_of(p);
  const memory::dims sizes = {p.rows, p.columns};
  Plan plan{{sizes, memory::data_type::f32, memory::dims{layout.stride_x, 1}},
            {sizes, memory::data_type::f32, memory::dims{layout.stride_y, 1}},
            {}};
  const auto algorithm = p.logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const OneThread one;
  plan.primitive = dnnl::softmax_v2_forward::primitive_desc(
      dnnl::softmax_v2_forward::desc(dnnl::prop_kind::forward_inference, algorithm, plan.x, plan.y, 1),
      onednn_attributes(), onednn_engine());
  return plan;
}

class OneDnn final : public SoftmaxSolver {
 public:
  std::string_view id() const noexcept override { return "onednn"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (p.type != f32) return "this solver's type is f32";
    if (p.scale != 1) return "oneDNN has no scale before a softmax";
    return refuse_device(device);
  }

  std::size_t workspace(const Problem& p, const Configuration&) const override {
    return plan_for(p).primitive.scratchpad_desc().get_size();
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    const Plan plan = plan_for(p);
    return make_onednn_invoker(dnnl::softmax_v2_forward(plan.primitive), plan.primitive.scratchpad_desc(),
                               {{DNNL_ARG_SRC, 0, plan.x}, {DNNL_ARG_DST, 1, plan.y}});
  }
};

}  // namespace

std::shared_ptr<const SoftmaxSolver> onednn(Facts& facts) {
  add_onednn_facts(facts);
  return std::make_shared<const OneDnn>();
}

}  // namespace hone::softmax::host
