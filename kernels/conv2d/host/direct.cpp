#include <algorithm>
#include <cmath>
#include <hone/error.hpp>
#include <type_traits>

#include "kernels/conv2d/geometry.hpp"
#include "kernels/conv2d/host/solvers.hpp"
#include "kernels/element.hpp"

namespace hone::conv2d::host {
namespace {

// Neighbours along an output row that are summed up together.
constexpr std::int64_t together = 64;

float activate(float x, Activation activation) noexcept {
  if (activation == Activation::relu) return x > 0 ? x : 0;
  if (activation == Activation::gelu) {
    return 0.5F * x * (1 + std::tanh(0.797884561F * (x + 0.044715F * x * x * x)));
  }
  return x;
}

struct Range {
  std::int64_t begin, end;
};

// The j of an output row for which 0 <= j * stride + offset < width.
Range inside(std::int64_t width, std::int64_t stride, std::int64_t offset) noexcept {
  const std::int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t end = offset >= width ? 0 : (width - 1 - offset) / stride + 1;
  return {begin, end};
}

template <class Element>
struct Convolution {
  const Problem& p;
  const Geometry& g;
  const Element* x;
  const Element* weights;
  Element* y;
  const Element* bias;

  // `count` sums of one output row of one filter, from column `first` on.
  void sums(std::int64_t image, std::int64_t filter, std::int64_t row, std::int64_t first, std::int64_t count,
            float* result) const noexcept {
    const Element* channels = x + image * g.x.image + filter / g.group_filters * g.group_channels * g.x.channel;
    for (std::int64_t i = 0; i < p.filter_height; ++i) {
      const std::int64_t from = row * p.stride_height - p.pad_height + i * p.dilation_height;
      if (from < 0 || from >= p.height) continue;
      for (std::int64_t k = 0; k < p.filter_width; ++k) {
        const std::int64_t offset = k * p.dilation_width - p.pad_width;
        const Range columns = inside(p.width, p.stride_width, offset);
        const std::int64_t begin = std::max(columns.begin, first), end = std::min(columns.end, first + count);
        const Element* weight = weights + filter * g.weights.image + i * g.weights.row + k * g.weights.column;
        for (std::int64_t c = 0; c < g.group_channels; ++c) {
          const auto factor = static_cast<float>(weight[c * g.weights.channel]);
          const Element* source = channels + c * g.x.channel + from * g.x.row;
          for (std::int64_t j = begin; j < end; ++j) {
            result[j - first] += factor * static_cast<float>(source[(j * p.stride_width + offset) * g.x.column]);
          }
        }
      }
    }
  }

  void run() const noexcept {
    for (std::int64_t image = 0; image < p.batch; ++image) {
      for (std::int64_t filter = 0; filter < p.filters; ++filter) {
        for (std::int64_t row = 0; row < g.output_height; ++row) {
          Element* out = y + image * g.y.image + filter * g.y.channel + row * g.y.row;
          for (std::int64_t first = 0; first < g.output_width; first += together) {
            const std::int64_t count = std::min(together, g.output_width - first);
            float values[together];
            std::fill_n(values, count, bias != nullptr ? static_cast<float>(bias[filter]) : 0.0F);
            sums(image, filter, row, first, count, values);
            for (std::int64_t j = 0; j < count; ++j) {
              out[(first + j) * g.y.column] = static_cast<Element>(activate(values[j], p.activation));
            }
          }
        }
      }
    }
  }
};

class Direct final : public Conv2dSolver {
 public:
  std::string_view id() const noexcept override { return "direct"; }

  Refusal applicable(const Problem&, const Device& device) const override { return refuse_device(device); }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration&, Device&) const override {
    return with_element_type(p.type, [&p](auto* element) -> std::shared_ptr<const Invoker> {
      using Element = std::remove_pointer_t<decltype(element)>;
      return make_invoker([p, g = geometry_of(p)](Stream&, const Arguments& arguments) noexcept -> std::error_code {
        const auto* x = arguments.get<const Element>(0);
        const auto* weights = arguments.get<const Element>(1);
        auto* y = arguments.get<Element>(2);
        const auto* bias = p.bias ? arguments.get<const Element>(3) : nullptr;
        if (!x || !weights || !y || (p.bias && !bias)) return Errc::launch_failed;
        Convolution<Element>{p, g, x, weights, y, bias}.run();
        return {};
      });
    });
  }
};

}  // namespace

std::shared_ptr<const Conv2dSolver> direct() { return std::make_shared<const Direct>(); }

}  // namespace hone::conv2d::host
