#include "tools/demo_server/encoder.hpp"

#include <algorithm>
#include <cmath>
#include <hone/device.hpp>
#include <hone/error.hpp>
#include <random>
#include <string>
#include <utility>

#include "tools/demo_server/vector_math.hpp"

namespace hone::demo {
namespace {

enum Place { qkv, scores, context, output, up, down };

std::vector<float> uniform(std::int64_t count, float limit, std::mt19937_64& random) {
  std::vector<float> values(static_cast<std::size_t>(count));
  // Not std::uniform_real_distribution: its numbers differ between standard libraries.
  for (float& value : values) value = (static_cast<float>(random() >> 40) / 8388608.0F - 1.0F) * limit;
  return values;
}

std::vector<float> near_one(std::int64_t count, std::mt19937_64& random) {
  std::vector<float> values = uniform(count, 0.1F, random);
  for (float& value : values) value += 1;
  return values;
}

}  // namespace

Weights::Weights(const Shape& s, std::uint64_t seed) : shape(s) {
  std::mt19937_64 random(seed);
  const auto limit = [](std::int64_t inputs) { return std::sqrt(3.0F / static_cast<float>(inputs)); };
  embedding = uniform(shape.vocabulary * shape.hidden, 1, random);
  position = uniform(static_cast<std::int64_t>(shape.longest) * shape.hidden, 0.5F, random);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    Layer layer;
    layer.attention_gain = near_one(shape.hidden, random);
    layer.attention_shift = uniform(shape.hidden, 0.1F, random);
    layer.qkv = uniform(shape.hidden * 3 * shape.hidden, limit(shape.hidden), random);
    layer.qkv_bias = uniform(3 * shape.hidden, 0.1F, random);
    layer.out = uniform(shape.hidden * shape.hidden, limit(shape.hidden), random);
    layer.out_bias = uniform(shape.hidden, 0.1F, random);
    layer.feed_gain = near_one(shape.hidden, random);
    layer.feed_shift = uniform(shape.hidden, 0.1F, random);
    layer.up = uniform(shape.hidden * shape.feed_forward, limit(shape.hidden), random);
    layer.up_bias = uniform(shape.feed_forward, 0.1F, random);
    layer.down = uniform(shape.feed_forward * shape.hidden, limit(shape.feed_forward), random);
    layer.down_bias = uniform(shape.hidden, 0.1F, random);
    layers.push_back(std::move(layer));
  }
  final_gain = near_one(shape.hidden, random);
  final_shift = uniform(shape.hidden, 0.1F, random);
}

std::array<gemm::Problem, 6> layer_problems(const Shape& shape, std::int64_t tokens) {
  const std::int64_t hidden = shape.hidden, head = shape.head(), row = 3 * hidden;
  std::array<gemm::Problem, 6> problems;
  problems[qkv] = {.m = tokens, .n = row, .k = hidden, .bias = true};
  // Heads are neighbouring columns of the queries, keys and values.
  problems[scores] = {.m = tokens,
                      .n = tokens,
                      .k = head,
                      .transpose_b = true,
                      .alpha = 1.0F / std::sqrt(static_cast<float>(head)),
                      .batch = shape.heads,
                      .lda = row,
                      .ldb = row,
                      .stride_a = head,
                      .stride_b = head};
  problems[context] = {.m = tokens,
                       .n = head,
                       .k = tokens,
                       .batch = shape.heads,
                       .ldb = row,
                       .ldc = hidden,
                       .stride_b = head,
                       .stride_c = head};
  // The residual is what C held before.
  problems[output] = {.m = tokens, .n = hidden, .k = hidden, .beta = 1, .bias = true};
  problems[up] = {
      .m = tokens, .n = shape.feed_forward, .k = hidden, .bias = true, .activation = gemm::Activation::gelu};
  problems[down] = {.m = tokens, .n = hidden, .k = shape.feed_forward, .beta = 1, .bias = true};
  return problems;
}

Encoder::Encoder(std::shared_ptr<const Weights> weights, std::unique_ptr<MatrixProduct> products)
    : weights_(std::move(weights)), products_(std::move(products)), stream_(host_stream()) {
  const Shape& shape = weights_->shape;
  const std::size_t tokens = bucketed(shape.longest);
  const auto room = [tokens](std::int64_t width) {
    return std::vector<float>(tokens * static_cast<std::size_t>(width));
  };
  state_ = room(shape.hidden);
  normalised_ = room(shape.hidden);
  qkv_ = room(3 * shape.hidden);
  scores_ = room(shape.heads * static_cast<std::int64_t>(tokens));
  context_ = room(shape.hidden);
  inner_ = room(shape.feed_forward);
  pooled_.resize(static_cast<std::size_t>(shape.hidden));
}

Encoder::Plan& Encoder::plan(std::size_t tokens) {
  const auto place = plans_.find(tokens);
  if (place != plans_.end()) return place->second;
  Plan plan;
  const auto problems = layer_problems(weights_->shape, static_cast<std::int64_t>(tokens));
  for (std::size_t i = 0; i < problems.size(); ++i) plan.products[i] = products_->product(problems[i]);
  return plans_.emplace(tokens, std::move(plan)).first->second;
}

void Encoder::run(Product& product, std::initializer_list<const void*> operands) {
  if (const std::error_code error = product.run(*stream_, Arguments(operands))) {
    throw Error(Errc::launch_failed, "a matrix product of the encoder failed: " + error.message());
  }
}

std::span<const float> Encoder::encode(std::span<const std::uint32_t> sentence, std::size_t least_tokens) {
  const Shape& shape = weights_->shape;
  const std::size_t valid = sentence.size();
  const std::size_t tokens = bucketed(std::max(valid, least_tokens));
  if (valid == 0 || tokens > bucketed(shape.longest)) {
    throw Error(Errc::invalid_option, "a sentence has 1 to " + std::to_string(shape.longest) + " tokens");
  }
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  for (std::size_t i = 0; i < tokens; ++i) {
    // Masked tokens hold zeros: finite, and the same every time.
    float* row = state_.data() + i * hidden;
    if (i >= valid) {
      std::fill_n(row, hidden, 0.0F);
      continue;
    }
    const float* word = weights_->embedding.data() + (sentence[i] % shape.vocabulary) * hidden;
    const float* place = weights_->position.data() + i * hidden;
    for (std::size_t j = 0; j < hidden; ++j) row[j] = word[j] + place[j];
  }
  Plan& products = plan(tokens);
  for (const Weights::Layer& layer : weights_->layers) {
    attention(layer, products, tokens, valid);
    feed_forward(layer, products, tokens);
  }
  const std::size_t elements = valid * hidden;
  normalise(std::span(state_).first(elements), weights_->final_gain, weights_->final_shift, normalised_);
  std::fill(pooled_.begin(), pooled_.end(), 0.0F);
  for (std::size_t i = 0; i < elements; i += hidden) {
    for (std::size_t j = 0; j < hidden; ++j) pooled_[j] += normalised_[i + j];
  }
  for (float& value : pooled_) value /= static_cast<float>(valid);
  return pooled_;
}

void Encoder::attention(const Weights::Layer& layer, Plan& plan, std::size_t tokens, std::size_t valid) {
  const Shape& shape = weights_->shape;
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  normalise(std::span(state_).first(tokens * hidden), layer.attention_gain, layer.attention_shift, normalised_);
  run(*plan.products[qkv], {normalised_.data(), layer.qkv.data(), qkv_.data(), layer.qkv_bias.data()});
  run(*plan.products[scores], {qkv_.data(), qkv_.data() + hidden, scores_.data()});
  masked_softmax(std::span(scores_).first(static_cast<std::size_t>(shape.heads) * tokens * tokens), tokens, valid);
  run(*plan.products[context], {scores_.data(), qkv_.data() + 2 * hidden, context_.data()});
  run(*plan.products[output], {context_.data(), layer.out.data(), state_.data(), layer.out_bias.data()});
}

void Encoder::feed_forward(const Weights::Layer& layer, Plan& plan, std::size_t tokens) {
  const auto hidden = static_cast<std::size_t>(weights_->shape.hidden);
  normalise(std::span(state_).first(tokens * hidden), layer.feed_gain, layer.feed_shift, normalised_);
  run(*plan.products[up], {normalised_.data(), layer.up.data(), inner_.data(), layer.up_bias.data()});
  run(*plan.products[down], {inner_.data(), layer.down.data(), state_.data(), layer.down_bias.data()});
}

}  // namespace hone::demo
