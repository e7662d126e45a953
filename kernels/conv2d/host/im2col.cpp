#include <algorithm>
#include <hone/error.hpp>
#include <hone/gemm.hpp>
#include <optional>
#include <string>
#include <utility>

#include "kernels/conv2d/geometry.hpp"
#include "kernels/conv2d/host/solvers.hpp"
#include "kernels/host/scratch.hpp"

namespace hone::conv2d::host {
namespace {

// What is gathered at a time should be in the second-level cache when it is multiplied.
constexpr std::int64_t gathered_elements = (std::int64_t{1} << 20) / sizeof(float);

// Each output position sees one pixel: the image is the matrix.
bool is_pointwise(const Problem& p) noexcept {
  return p.filter_height == 1 && p.filter_width == 1 && p.stride_height == 1 && p.stride_width == 1 &&
         p.pad_height == 0 && p.pad_width == 0;
}

// The product for `rows` output rows of one image and group. nchw: y^T = weights x^T, one row a filter; nhwc: y = x
// weights^T, one row an output position.
hone::Problem product_of(const Problem& p, const Geometry& g, std::int64_t rows) {
  const std::int64_t positions = rows * g.output_width;
  if (p.layout == ImageLayout::nchw) {
    // gemm's bias is one element a column, so here it is what the product is added to.
    return hone::Problem(gemm::Problem{.m = g.group_filters,
                                       .n = positions,
                                       .k = g.taps(p),
                                       .beta = p.bias ? 1.0F : 0.0F,
                                       .activation = p.activation,
                                       .ldc = g.y.channel});
  }
  return hone::Problem(gemm::Problem{.m = positions,
                                     .n = g.group_filters,
                                     .k = g.taps(p),
                                     .transpose_b = true,
                                     .bias = p.bias,
                                     .activation = p.activation,
                                     .lda = is_pointwise(p) ? p.channels : 0,
                                     .ldc = p.filters});
}

// How many output rows are gathered at a time, and what is left at the end of an image.
struct Chunks {
  std::int64_t rows = 0, rest = 0;
  std::size_t gathered_bytes = 0;
};

Chunks chunks_of(const Problem& p, const Geometry& g) {
  if (is_pointwise(p)) return {g.output_height, 0, 0};
  const std::int64_t row_elements = g.taps(p) * g.output_width;
  const std::int64_t rows = std::clamp<std::int64_t>(gathered_elements / row_elements, 1, g.output_height);
  return {rows, g.output_height % rows,
          hone::host::scratch_part(static_cast<std::size_t>(rows * row_elements) * sizeof(float))};
}

// Writes `count` values of a row of the matrix: x at first, first + stride, ... for output columns 0, 1, ..., zero
// outside of [0, width).
void gather_row(const float* x, std::int64_t width, std::int64_t first, std::int64_t stride, std::int64_t count,
                float* to) noexcept {
  const std::int64_t begin = std::min(count, first >= 0 ? 0 : (-first + stride - 1) / stride);
  const std::int64_t end = std::max(begin, std::min(count, first >= width ? 0 : (width - 1 - first) / stride + 1));
  std::fill(to, to + begin, 0.0F);
  if (stride == 1) {
    std::copy(x + first + begin, x + first + end, to + begin);
  } else {
    for (std::int64_t j = begin; j < end; ++j) to[j] = x[first + j * stride];
  }
  std::fill(to + end, to + count, 0.0F);
}

// nchw: a row of the matrix for each channel and place in the filter, output positions along it.
void gather_rows(const Problem& p, const Geometry& g, const float* x, std::int64_t first, std::int64_t rows,
                 float* to) noexcept {
  for (std::int64_t channel = 0; channel < g.group_channels; ++channel, x += g.x.channel) {
    for (std::int64_t i = 0; i < p.filter_height; ++i) {
      for (std::int64_t k = 0; k < p.filter_width; ++k) {
        for (std::int64_t row = first; row < first + rows; ++row, to += g.output_width) {
          const std::int64_t from = row * p.stride_height - p.pad_height + i * p.dilation_height;
          if (from < 0 || from >= p.height) {
            std::fill_n(to, g.output_width, 0.0F);
          } else {
            gather_row(x + from * g.x.row, p.width, k * p.dilation_width - p.pad_width, p.stride_width, g.output_width,
                       to);
          }
        }
      }
    }
  }
}

// nhwc: a row of the matrix for each output position, channels innermost.
void gather_positions(const Problem& p, const Geometry& g, const float* x, std::int64_t first, std::int64_t rows,
                      float* to) noexcept {
  for (std::int64_t row = first; row < first + rows; ++row) {
    for (std::int64_t column = 0; column < g.output_width; ++column) {
      for (std::int64_t i = 0; i < p.filter_height; ++i) {
        const std::int64_t y = row * p.stride_height - p.pad_height + i * p.dilation_height;
        for (std::int64_t k = 0; k < p.filter_width; ++k, to += g.group_channels) {
          const std::int64_t at = column * p.stride_width - p.pad_width + k * p.dilation_width;
          if (y < 0 || y >= p.height || at < 0 || at >= p.width) {
            std::fill_n(to, g.group_channels, 0.0F);
          } else {
            std::copy_n(x + y * g.x.row + at * g.x.column, g.group_channels, to);
          }
        }
      }
    }
  }
}

// A convolution's launch with its products prepared.
struct Launch {
  Problem p;
  Geometry g;
  Chunks chunks;
  std::shared_ptr<const Invoker> whole, rest;  // rest: null where nothing is left
  std::size_t product_bytes = 0;

  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept {
    const auto* x = arguments.get<const float>(0);
    const auto* weights = arguments.get<const float>(1);
    auto* y = arguments.get<float>(2);
    const auto* bias = p.bias ? arguments.get<const float>(3) : nullptr;
    if (!x || !weights || !y || (p.bias && !bias)) return Errc::launch_failed;
    std::byte* scratch = nullptr;
    if (chunks.gathered_bytes + product_bytes > 0) {
      scratch = static_cast<std::byte*>(stream.scratch(chunks.gathered_bytes + product_bytes));
      if (scratch == nullptr) return Errc::out_of_memory;
    }
    hone::host::PartStream part(stream, scratch + chunks.gathered_bytes, product_bytes);
    for (std::int64_t image = 0; image < p.batch; ++image) {
      for (std::int64_t group = 0; group < p.groups; ++group) {
        const std::int64_t filter = group * g.group_filters;
        const float* group_x = x + image * g.x.image + group * g.group_channels * g.x.channel;
        float* group_y = y + image * g.y.image + filter * g.y.channel;
        if (const std::error_code error =
                run_group(part, group_x, weights + filter * g.weights.image, group_y, bias ? bias + filter : nullptr,
                          reinterpret_cast<float*>(scratch))) {
          return error;
        }
      }
    }
    return {};
  }

 private:
  std::error_code run_group(Stream& stream, const float* x, const float* weights, float* y, const float* bias,
                            float* gathered) const noexcept {
    for (std::int64_t row = 0; row < g.output_height; row += chunks.rows) {
      const bool last = row + chunks.rows > g.output_height;
      const std::int64_t rows = last ? chunks.rest : chunks.rows;
      const Invoker& product = last ? *rest : *whole;
      const float* matrix = gathered;
      if (is_pointwise(p)) {
        matrix = x;
      } else if (p.layout == ImageLayout::nchw) {
        gather_rows(p, g, x, row, rows, gathered);
      } else {
        gather_positions(p, g, x, row, rows, gathered);
      }
      float* const out = y + row * g.y.row;
      std::error_code error;
      if (p.layout == ImageLayout::nchw) {
        if (bias != nullptr) {
          for (std::int64_t f = 0; f < g.group_filters; ++f) {
            std::fill_n(out + f * g.y.channel, rows * g.output_width, bias[f]);
          }
        }
        error = product.run(stream, {weights, matrix, out});
      } else {
        error = product.run(stream, {matrix, weights, out, bias});
      }
      if (error) return error;
    }
    return {};
  }
};

class Gathered final : public Conv2dSolver {
 public:
  explicit Gathered(std::shared_ptr<const Solver> gemm)
      : gemm_(std::move(gemm)), id_("im2col_" + std::string(gemm_->id())) {}

  std::string_view id() const noexcept override { return id_; }
  std::uint32_t version() const noexcept override { return gemm_->version(); }
  bool compiles(const Problem& p) const override { return gemm_->compiles(whole(p)); }

  Refusal applicable(const Problem& p, const Device& device) const override {
    if (Refusal refusal = refuse_device(device)) return refusal;
    if (p.type != f32) return f32_refusal;
    const Geometry g = geometry_of(p);
    const Chunks chunks = chunks_of(p, g);
    if (Refusal refusal = gemm_->applicable(product_of(p, g, chunks.rows), device)) return refusal;
    if (chunks.rest > 0) {
      if (Refusal refusal = gemm_->applicable(product_of(p, g, chunks.rest), device)) return refusal;
    }
    if (p.workspace_limit >= 0 &&
        workspace(p, default_configuration(p, device)) > static_cast<std::uint64_t>(p.workspace_limit)) {
      return workspace_refusal;
    }
    return {};
  }

  SearchSpace search_space(const Problem& p, const Device& device) const override {
    SearchSpace space = gemm_->search_space(whole(p), device);
    if (p.workspace_limit >= 0 && !space.empty()) {
      std::vector<std::string> names;
      for (const Parameter& parameter : space.parameters()) names.push_back(parameter.name);
      const auto parameters =
          std::make_shared<const std::vector<Parameter>>(space.parameters().begin(), space.parameters().end());
      space.rule(std::move(names), [this, p, parameters](std::span<const std::int64_t> v) {
        return workspace(p, Configuration(parameters, {v.begin(), v.end()})) <=
               static_cast<std::uint64_t>(p.workspace_limit);
      });
    }
    return space;
  }

  Configuration default_configuration(const Problem& p, const Device& device) const override {
    return gemm_->default_configuration(whole(p), device);
  }

  std::size_t workspace(const Problem& p, const Configuration& configuration) const override {
    const Geometry g = geometry_of(p);
    const Chunks chunks = chunks_of(p, g);
    return chunks.gathered_bytes + product_workspace(p, g, chunks, configuration);
  }

  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& configuration,
                                         Device& device) const override {
    Launch launch{.p = p, .g = geometry_of(p), .chunks = {}, .whole = {}, .rest = {}};
    launch.chunks = chunks_of(p, launch.g);
    launch.whole = gemm_->prepare(product_of(p, launch.g, launch.chunks.rows), configuration, device);
    // A configuration holds what it says for every size; only how well it suits was chosen for the whole ones.
    if (launch.chunks.rest > 0) {
      launch.rest = gemm_->prepare(product_of(p, launch.g, launch.chunks.rest), configuration, device);
    }
    launch.product_bytes = product_workspace(p, launch.g, launch.chunks, configuration);
    return make_invoker([launch = std::move(launch)](Stream& stream, const Arguments& arguments) noexcept {
      return launch.run(stream, arguments);
    });
  }

 private:
  static hone::Problem whole(const Problem& p) {
    const Geometry g = geometry_of(p);
    return product_of(p, g, chunks_of(p, g).rows);
  }

  std::size_t product_workspace(const Problem& p, const Geometry& g, const Chunks& chunks,
                                const Configuration& configuration) const {
    const std::size_t whole_bytes = gemm_->workspace(product_of(p, g, chunks.rows), configuration);
    if (chunks.rest == 0) return whole_bytes;
    return std::max(whole_bytes, gemm_->workspace(product_of(p, g, chunks.rest), configuration));
  }

  const std::shared_ptr<const Solver> gemm_;
  const std::string id_;
};

}  // namespace

std::shared_ptr<const Conv2dSolver> gathered(std::shared_ptr<const Solver> gemm) {
  return std::make_shared<const Gathered>(std::move(gemm));
}

}  // namespace hone::conv2d::host
