#include <algorithm>
#include <cmath>
#include <hone/error.hpp>

#include "kernels/element.hpp"
#include "kernels/softmax/host/solvers.hpp"
#include "kernels/softmax/reference.hpp"

namespace hone::softmax::host {
namespace {

template <class Element>
void softmax_row(const Problem& p, const Element* x, Element* y) noexcept {
  float largest = p.scale * static_cast<float>(x[0]);
  for (std::int64_t j = 1; j < p.columns; ++j) largest = std::max(largest, p.scale * static_cast<float>(x[j]));
  double sum = 0;
  for (std::int64_t j = 0; j < p.columns; ++j) {
    sum += static_cast<double>(std::exp(p.scale * static_cast<float>(x[j]) - largest));
  }
  const auto logarithm = static_cast<float>(std::log(sum));
  const auto factor = static_cast<float>(1 / sum);
  for (std::int64_t j = 0; j < p.columns; ++j) {
    const float value = p.scale * static_cast<float>(x[j]) - largest;
    y[j] = static_cast<Element>(p.logarithm ? value - logarithm : std::exp(value) * factor);
  }
}

// A plain loop: every type, every stride, no workspace.
class Direct final : public SoftmaxSolver {
 public:
  std::string_view id() const noexcept override { return "direct"; }

  Refusal applicable(const Problem&, const Device& device) const override { return refuse_device(device); }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    return with_element_type(p.type, [&p](auto* element) -> std::shared_ptr<const Invoker> {
      using Element = std::remove_pointer_t<decltype(element)>;
      return make_invoker([p, layout = layout_of(p)](Stream&, const Arguments& arguments) noexcept -> std::error_code {
        const auto* x = arguments.get<const Element>(0);
        auto* y = arguments.get<Element>(1);
        if (!x || !y) return Errc::launch_failed;
        for (std::int64_t i = 0; i < p.rows; ++i) {
          softmax_row(p, x + i * layout.stride_x, y + i * layout.stride_y);
        }
        return {};
      });
    });
  }
};

}  // namespace

std::shared_ptr<const SoftmaxSolver> direct() { return std::make_shared<const Direct>(); }

}  // namespace hone::softmax::host
