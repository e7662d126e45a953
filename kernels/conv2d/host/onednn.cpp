#include "kernels/host/onednn.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/conv2d/geometry.hpp"
#include "kernels/conv2d/host/solvers.hpp"
#include "kernels/host/scratch.hpp"

namespace hone::conv2d::host {
namespace {

using dnnl::memory;
using namespace hone::host;
using Primitive = dnnl::convolution_forward::primitive_desc;

// The operands as the problem has them.
struct Plain {
  memory::desc x, weights, y, bias;

  Plain(const Problem& p, const Geometry& g) {
    const auto describe = [](const memory::dims& sizes, const ImageStrides& s) {
      return memory::desc(sizes, memory::data_type::f32, memory::dims{s.image, s.channel, s.row, s.column});
    };
    x = describe({p.batch, p.channels, p.height, p.width}, g.x);
    y = describe({p.batch, p.filters, g.output_height, g.output_width}, g.y);
    const ImageStrides& w = g.weights;
    if (p.groups == 1) {
      weights = describe({p.filters, p.channels, p.filter_height, p.filter_width}, w);
    } else {
      weights = memory::desc({p.groups, g.group_filters, g.group_channels, p.filter_height, p.filter_width},
                             memory::data_type::f32,
                             memory::dims{g.group_filters * w.image, w.image, w.channel, w.row, w.column});
    }
    bias = memory::desc({p.filters}, memory::data_type::f32, memory::format_tag::a);
  }
};

memory::desc any(const memory::desc& layout) {
  return memory::desc(layout.dims(), layout.data_type(), memory::format_tag::any);
}

dnnl::primitive_attr attributes_of(const Problem& p) {
  dnnl::primitive_attr attributes = onednn_attributes();
  dnnl::post_ops after;
  if (p.activation == Activation::relu) after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  if (p.activation == Activation::gelu) after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_tanh, 0, 0);
  attributes.set_post_ops(after);
  return attributes;
}

// Throws dnnl::error where the library has none. With `choose` it picks the layouts of x and y, too; those of the
// weights are always its own choice.
Primitive make_primitive(const Problem& p, const Geometry& g, const Plain& plain, dnnl::algorithm algorithm,
                         bool choose) {
  const memory::desc x = choose ? any(plain.x) : plain.x, y = choose ? any(plain.y) : plain.y;
  const memory::dims strides = {p.stride_height, p.stride_width};
  const memory::dims dilations = {p.dilation_height - 1, p.dilation_width - 1};
  const memory::dims pad = {p.pad_height, p.pad_width};
  // Rounding down may leave the last rows and columns of padding unread.
  const auto behind = [](std::int64_t output, std::int64_t stride, std::int64_t dilation, std::int64_t filter,
                         std::int64_t size, std::int64_t before) {
    return (output - 1) * stride + dilation * (filter - 1) + 1 - size - before;
  };
  const memory::dims pad_behind = {
      behind(g.output_height, p.stride_height, p.dilation_height, p.filter_height, p.height, p.pad_height),
      behind(g.output_width, p.stride_width, p.dilation_width, p.filter_width, p.width, p.pad_width)};
  constexpr auto inference = dnnl::prop_kind::forward_inference;
  const OneThread one;
  const auto description = p.bias ? dnnl::convolution_forward::desc(inference, algorithm, x, any(plain.weights),
                                                                    plain.bias, y, strides, dilations, pad, pad_behind)
                                  : dnnl::convolution_forward::desc(inference, algorithm, x, any(plain.weights), y,
                                                                    strides, dilations, pad, pad_behind);
  return Primitive(description, attributes_of(p), onednn_engine());
}

// The primitive with what brings the operands into its layouts and back. The parts of the scratch follow each other.
class Plan {
 public:
  Plan(const Problem& p, dnnl::algorithm algorithm, bool choose)
      : plain_(p, geometry_of(p)), primitive_(make_primitive(p, geometry_of(p), plain_, algorithm, choose)) {
    // Hundreds of times slower than the plain loop, and no algorithm of its own.
    if (std::string_view(primitive_.impl_info_str()).starts_with("ref")) {
      throw std::runtime_error("oneDNN has only its reference implementation for this");
    }
    Step convolution{[primitive = primitive_] { return dnnl::convolution_forward(primitive); }, {}};
    const OneDnnOperand x = place(0, plain_.x, primitive_.src_desc());
    const OneDnnOperand weights = place(1, plain_.weights, primitive_.weights_desc());
    const OneDnnOperand y = place(2, plain_.y, primitive_.dst_desc());
    if (is_copied(x)) copy({0, 0, plain_.x}, x);
    if (is_copied(weights)) copy_weights({0, 1, plain_.weights}, weights);
    use(convolution, DNNL_ARG_SRC, x);
    use(convolution, DNNL_ARG_WEIGHTS, weights);
    use(convolution, DNNL_ARG_DST, y);
    if (p.bias) use(convolution, DNNL_ARG_BIAS, {0, 3, plain_.bias});
    add_scratch(convolution, primitive_.scratchpad_desc());
    steps_.push_back(std::move(convolution));
    if (is_copied(y)) copy(y, {0, 2, plain_.y});
  }

  std::size_t bytes() const noexcept { return bytes_; }
  // Generates the code.
  std::shared_ptr<const Invoker> invoker() const {
    const OneThread one;
    std::vector<OneDnnStep> steps;
    for (const Step& step : steps_) steps.push_back({step.make(), step.operands});
    return make_onednn_invoker(std::move(steps), bytes_);
  }

 private:
  struct Step {
    std::function<dnnl::primitive()> make;
    std::vector<OneDnnOperand> operands;
  };

  std::size_t take(std::size_t bytes) noexcept { return std::exchange(bytes_, bytes_ + scratch_part(bytes)); }

  // The operand itself where its layout was chosen, or room for a copy.
  OneDnnOperand place(std::size_t index, const memory::desc& plain, const memory::desc& chosen) {
    if (plain == chosen) return {0, index, plain};
    return {0, OneDnnOperand::in_scratch, chosen, take(chosen.get_size())};
  }

  static bool is_copied(const OneDnnOperand& operand) noexcept { return operand.index == OneDnnOperand::in_scratch; }

  static void use(Step& convolution, int argument, OneDnnOperand operand) {
    operand.argument = argument;
    convolution.operands.push_back(std::move(operand));
  }

  // Winograd's layout of the weights can only be reached from one of the plain ones.
  void copy_weights(const OneDnnOperand& from, const OneDnnOperand& to) {
    try {
      copy(from, to);
    } catch (const dnnl::error&) {
      const bool grouped = from.layout.dims().size() == 5;
      const memory::desc dense(from.layout.dims(), memory::data_type::f32,
                               grouped ? memory::format_tag::goihw : memory::format_tag::oihw);
      const OneDnnOperand between{0, OneDnnOperand::in_scratch, dense, take(dense.get_size())};
      copy(from, between);
      copy(between, to);
    }
  }

  // Throws dnnl::error, with nothing changed, where the library has no such copy.
  void copy(OneDnnOperand from, OneDnnOperand to) {
    const dnnl::reorder::primitive_desc reorder = [&] {
      const OneThread one;
      return dnnl::reorder::primitive_desc(onednn_engine(), from.layout, onednn_engine(), to.layout,
                                           onednn_attributes());
    }();
    from.argument = DNNL_ARG_FROM;
    to.argument = DNNL_ARG_TO;
    Step step{[reorder] { return dnnl::reorder(reorder); }, {from, to}};
    add_scratch(step, reorder.scratchpad_desc());
    steps_.push_back(std::move(step));
  }

  // Some reorders have scratch, too. The library's own would be shared by all threads that launch.
  void add_scratch(Step& step, const memory::desc& scratch) {
    step.operands.push_back({DNNL_ARG_SCRATCHPAD, OneDnnOperand::in_scratch, scratch, take(scratch.get_size())});
  }

  const Plain plain_;
  const Primitive primitive_;
  std::vector<Step> steps_;
  std::size_t bytes_ = 0;
};

// The workspace of what the library does not have is none: preparing it says why.
template <class MakePlan>
std::size_t workspace_of(MakePlan make_plan) {
  try {
    return make_plan().bytes();
  } catch (const dnnl::error&) {
    return 0;
  } catch (const std::runtime_error&) {
    return 0;
  }
}

Refusal refuse(const Problem& p, const Device& device) {
  if (Refusal refusal = refuse_device(device)) return refusal;
  if (p.type != f32) return f32_refusal;
  return {};
}

bool within_limit(const Problem& p, std::size_t bytes) {
  return p.workspace_limit < 0 || bytes <= static_cast<std::uint64_t>(p.workspace_limit);
}

class OneDnnDirect final : public Conv2dSolver {
 public:
  std::string_view id() const noexcept override { return "onednn_direct"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    // Asking for the size costs a plan, so it is done only where it matters.
    if (p.workspace_limit >= 0 && !within_limit(p, workspace(p, default_configuration(p, device)))) {
      return workspace_refusal;
    }
    return {};
  }

  SearchSpace search_space(const Problem& p, const Device&) const override {
    if (p.workspace_limit < 0) return space();
    SearchSpace limited = space();
    limited.rule({"images"}, [this, p](std::span<const std::int64_t> v) {
      return within_limit(p, workspace(p, space().configuration({v[0]})));
    });
    return limited;
  }

  Configuration default_configuration(const Problem&, const Device&) const override {
    return space().configuration({0});
  }

  std::size_t workspace(const Problem& p, const Configuration& configuration) const override {
    return workspace_of([&] { return plan_for(p, configuration); });
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration, Device&) const override {
    return plan_for(p, configuration).invoker();
  }

 private:
  // Images as they are, or copied into the layout that the library likes best.
  static const SearchSpace& space() {
    static const SearchSpace shared = [] {
      SearchSpace result;
      result.enumeration("images", {"plain", "chosen"});
      return result;
    }();
    return shared;
  }

  static Plan plan_for(const Problem& p, const Configuration& configuration) {
    return Plan(p, dnnl::algorithm::convolution_direct, configuration.at("images") != 0);
  }
};

class OneDnnWinograd final : public Conv2dSolver {
 public:
  std::string_view id() const noexcept override { return "onednn_winograd"; }
  bool compiles(const Problem&) const override { return true; }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse(p, device)) return refusal;
    if (!available_) return "oneDNN has no Winograd algorithm for this processor";
    if (p.filter_height != 3 || p.filter_width != 3) return "oneDNN's Winograd algorithm takes filters of 3 x 3";
    if (p.stride_height != 1 || p.stride_width != 1) return "oneDNN's Winograd algorithm takes a stride of 1";
    if (p.dilation_height != 1 || p.dilation_width != 1) return "oneDNN's Winograd algorithm takes no dilation";
    if (p.groups != 1) return "oneDNN's Winograd algorithm takes one group";
    if (p.activation == Activation::gelu) return "oneDNN's Winograd algorithm takes no gelu";
    if (p.channels % 16 != 0 || p.filters % 16 != 0) {
      return "oneDNN's Winograd algorithm takes channels and filters that are multiples of 16";
    }
    if (p.workspace_limit >= 0 && !within_limit(p, workspace(p, {}))) return workspace_refusal;
    return {};
  }

  std::size_t workspace(const Problem& p, const Configuration&) const override {
    return workspace_of([&] { return plan_for(p); });
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    return plan_for(p).invoker();
  }

 private:
  static Plan plan_for(const Problem& p) { return Plan(p, dnnl::algorithm::convolution_winograd, true); }

  // Whether there is code for a problem that suits it.
  const bool available_ = workspace_of([] {
                            return plan_for({.channels = 64,
                                             .height = 28,
                                             .width = 28,
                                             .filters = 64,
                                             .filter_height = 3,
                                             .filter_width = 3,
                                             .pad_height = 1,
                                             .pad_width = 1});
                          }) > 0;
};

}  // namespace

std::shared_ptr<const Conv2dSolver> onednn_direct(Facts& facts) {
  add_onednn_facts(facts);
  return std::make_shared<const OneDnnDirect>();
}

std::shared_ptr<const Conv2dSolver> onednn_winograd(Facts& facts) {
  add_onednn_facts(facts);
  return std::make_shared<const OneDnnWinograd>();
}

}  // namespace hone::conv2d::host
