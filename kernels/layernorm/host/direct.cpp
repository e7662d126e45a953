#include <cmath>
#include <hone/error.hpp>

#include "kernels/element.hpp"
#include "kernels/layernorm/host/solvers.hpp"
#include "kernels/layernorm/reference.hpp"

namespace hone::layernorm::host {
namespace {

template <class Element>
void normalise_row(const Problem& p, const Element* x, Element* y, const Element* gain, const Element* shift) noexcept {
  const auto columns = static_cast<float>(p.columns);
  double sum = 0;
  if (!p.root_mean_square) {
    for (std::int64_t j = 0; j < p.columns; ++j) sum += static_cast<double>(x[j]);
  }
  const float mean = static_cast<float>(sum) / columns;
  double squares = 0;
  for (std::int64_t j = 0; j < p.columns; ++j) {
    const float difference = static_cast<float>(x[j]) - mean;
    squares += static_cast<double>(difference * difference);
  }
  const float factor = 1 / std::sqrt(static_cast<float>(squares) / columns + p.epsilon);
  for (std::int64_t j = 0; j < p.columns; ++j) {
    float value = (static_cast<float>(x[j]) - mean) * factor;
    if (gain) value *= static_cast<float>(gain[j]);
    if (shift) value += static_cast<float>(shift[j]);
    y[j] = static_cast<Element>(value);
  }
}

// A plain loop: every type, every stride, no workspace.
class Direct final : public LayernormSolver {
 public:
  std::string_view id() const noexcept override { return "direct"; }

  Refusal applicable(const Problem&, const Device& device) const override { return refuse_device(device); }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    return with_element_type(p.type, [&p](auto* element) -> std::shared_ptr<const Invoker> {
      using Element = std::remove_pointer_t<decltype(element)>;
      return make_invoker([p, layout = layout_of(p)](Stream&, const Arguments& arguments) noexcept -> std::error_code {
        const Operands<Element> operands(p, arguments);
        if (!operands.complete(p)) return Errc::launch_failed;
        for (std::int64_t i = 0; i < p.rows; ++i) {
          normalise_row(p, operands.x + i * layout.stride_x, operands.y + i * layout.stride_y, operands.gain,
                        operands.shift);
        }
        return {};
      });
    });
  }
};

}  // namespace

std::shared_ptr<const LayernormSolver> direct() { return std::make_shared<const Direct>(); }

}  // namespace hone::layernorm::host
