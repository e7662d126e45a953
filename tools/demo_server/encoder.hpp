// A transformer encoder (Vaswani et al., arXiv:1706.03762) with normalisation before each sublayer, for inference in
// f32.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tools/demo_server/matrix_product.hpp"

namespace hone::demo {

struct Shape {
  std::int64_t layers = 6;
  std::int64_t hidden = 384;
  std::int64_t heads = 12;
  std::int64_t feed_forward = 1536;
  std::uint32_t vocabulary = 4096;
  std::size_t longest = 128;  // tokens

  std::int64_t head() const noexcept { return hidden / heads; }
};

// Random but reproducible weights, matrices stored inputs x outputs. Immutable; shared by any number of encoders.
class Weights {
 public:
  Weights(const Shape& shape, std::uint64_t seed);

  struct Layer {
    std::vector<float> attention_gain, attention_shift;  // normalisation before the attention
    std::vector<float> qkv, qkv_bias;
    std::vector<float> out, out_bias;
    std::vector<float> feed_gain, feed_shift;  // normalisation before the feed-forward part
    std::vector<float> up, up_bias;
    std::vector<float> down, down_bias;
  };

  Shape shape;
  std::vector<float> embedding, position;
  std::vector<Layer> layers;
  std::vector<float> final_gain, final_shift;
};

// Token counts are rounded up to a multiple of this, so that the number of different problems stays small.
inline constexpr std::size_t bucket = 8;
constexpr std::size_t bucketed(std::size_t tokens) noexcept { return (tokens + bucket - 1) / bucket * bucket; }

// The six matrix products of a layer for a number of tokens: queries, keys and values; scores; context; output; up;
// down.
std::array<gemm::Problem, 6> layer_problems(const Shape& shape, std::int64_t tokens);

// Not thread-safe.
class Encoder {
 public:
  Encoder(std::shared_ptr<const Weights> weights, std::unique_ptr<MatrixProduct> products);

  // The mean over the tokens of the last layer's normalised output: `hidden` values, valid until the next call. The
  // tokens are computed in a block of at least `least_tokens`; the rest of the block is masked and does not change the
  // result. Throws hone::Error when a product fails, or when the sentence is empty or longer than the shape's longest.
  std::span<const float> encode(std::span<const std::uint32_t> sentence, std::size_t least_tokens = 0);

 private:
  // What one token count needs.
  struct Plan {
    std::array<std::unique_ptr<Product>, 6> products;
  };
  Plan& plan(std::size_t tokens);
  void run(Product& product, std::initializer_list<const void*> operands);
  void attention(const Weights::Layer& layer, Plan& plan, std::size_t tokens, std::size_t valid);
  void feed_forward(const Weights::Layer& layer, Plan& plan, std::size_t tokens);

  std::shared_ptr<const Weights> weights_;
  std::unique_ptr<MatrixProduct> products_;
  std::unique_ptr<Stream> stream_;
  std::map<std::size_t, Plan> plans_;
  std::vector<float> state_, normalised_, qkv_, scores_, context_, inner_, pooled_;
};

}  // namespace hone::demo
