// The convolution y = activation(x * weights + bias) for GPUs, as the product of the weights with a matrix that is
// gathered from the images while it is read (implicit GEMM: Chetlur et al., arXiv:1410.0759).
//
// One text for the run-time compiler and for the host's compiler; see kernels/gemm/hip/gemm.hip.hpp.
//
// A work-group computes a tile of filters x output positions; a work-item computes REGISTER_M x REGISTER_N neighbours
// of it. TILE_K taps (places in the filter and channels) at a time go through local memory.
//
//   ELEMENT                      the type of the operands; sums are float
//   NHWC, BIAS                   0 or 1
//   ACTIVATION                   0: none, 1: relu, 2: gelu by tanh
//   FILTER_HEIGHT, FILTER_WIDTH  of the problem
//   THREADS_M, THREADS_N         work-items of a group along filters and positions
//   REGISTER_M, REGISTER_N       outputs of a work-item along filters and positions
//   TILE_K                       taps at a time
//   LOCAL_WEIGHTS                whether the weights go through local memory, too
//   STAGES                       tiles in local memory: 2 loads the next one while this one is used
//   PADDING                      elements behind each row of a tile, against bank conflicts
//   UNROLL                       steps of the inner loop that are unrolled
#include "kernels/conv2d/hip/arguments.hpp"

#ifndef KERNEL
#define KERNEL extern "C" __global__
#endif
#ifndef EXPONENTIAL
#define EXPONENTIAL(x) __builtin_expf(x)
#endif
#include "kernels/hip/activation.hip.hpp"

using hone::conv2d::hip::Arguments;
using Element = ELEMENT;

constexpr int tile_m = THREADS_M * REGISTER_M;
constexpr int tile_n = THREADS_N * REGISTER_N;
constexpr int work_group = THREADS_M * THREADS_N;
constexpr int filter_places = FILTER_HEIGHT * FILTER_WIDTH;

// Where the filter begins for an output position.
struct Position {
  int image;  // offset of its first element
  int row, column;
};

__device__ Position position_of(const Arguments& p, int number) {
  // Behind the last one: outside of every image.
  if (number >= p.positions) return {0, -(1 << 30), 0};
  const int inside = number % p.image_positions;
  return {number / p.image_positions * p.x_image, inside / p.output_width * p.stride_height - p.pad_height,
          inside % p.output_width * p.stride_width - p.pad_width};
}

// What the filter's tap sees from there; zero outside.
__device__ Element seen(const Arguments& p, const Element* x, const Position& from, int tap) {
  const int channel = NHWC ? tap % p.group_channels : tap / filter_places;
  const int place = NHWC ? tap / p.group_channels : tap % filter_places;
  const int row = from.row + place / FILTER_WIDTH * p.dilation_height;
  const int column = from.column + place % FILTER_WIDTH * p.dilation_width;
  const bool inside = tap < p.taps && row >= 0 && row < p.height && column >= 0 && column < p.width;
  return inside ? x[from.image + channel * p.x_channel + row * p.x_row + column * p.x_column]
                : static_cast<Element>(0.0F);
}

__device__ Element weight_at(const Arguments& p, const Element* weights, int filter, int tap) {
  return filter < p.group_filters && tap < p.taps ? weights[filter * p.taps + tap] : static_cast<Element>(0.0F);
}

// Calls `load` with the column and the step of everything in a tile, neighbours in memory by neighbours.
template <int Columns, bool StepsAreNeighbours, class Load>
__device__ void for_tile(Load load) {
#pragma unroll
  for (int i = 0; i < (Columns * TILE_K + work_group - 1) / work_group; ++i) {
    const int item = i * work_group + static_cast<int>(threadIdx.x);
    if (Columns * TILE_K % work_group != 0 && item >= Columns * TILE_K) break;
    if (StepsAreNeighbours) {
      load(item / TILE_K, item % TILE_K);
    } else {
      load(item % Columns, item / Columns);
    }
  }
}

KERNEL void __launch_bounds__(work_group) conv2d(Arguments p) {
  // Never of size 0, as a tile that is not used would be.
  __shared__ Element tile_w[LOCAL_WEIGHTS ? STAGES : 1][LOCAL_WEIGHTS ? TILE_K : 1][tile_m + PADDING];
  __shared__ Element tile_x[STAGES][TILE_K][tile_n + PADDING];
  __shared__ Position positions[tile_n];
  const int tiles_n = (p.positions + tile_n - 1) / tile_n;
  const int first_m = static_cast<int>(blockIdx.x) / tiles_n * tile_m;
  const int first_n = static_cast<int>(blockIdx.x) % tiles_n * tile_n;
  const int group = static_cast<int>(blockIdx.z);
  const Element* x = static_cast<const Element*>(p.x) + group * p.group_channels * p.x_channel;
  const Element* weights = static_cast<const Element*>(p.weights) + group * p.group_filters * p.taps;
  for (int i = static_cast<int>(threadIdx.x); i < tile_n; i += work_group) positions[i] = position_of(p, first_n + i);
  __syncthreads();

  const int own_m = static_cast<int>(threadIdx.x) / THREADS_N * REGISTER_M;
  const int own_n = static_cast<int>(threadIdx.x) % THREADS_N * REGISTER_N;
  float sums[REGISTER_M][REGISTER_N] = {};
  const auto load = [&](int first, int place) {
    if (LOCAL_WEIGHTS) {
      for_tile<tile_m, true>([&](int column, int step) {
        tile_w[place][LOCAL_WEIGHTS ? step : 0][column] = weight_at(p, weights, first_m + column, first + step);
      });
    }
    for_tile<tile_n, NHWC>(
        [&](int column, int step) { tile_x[place][step][column] = seen(p, x, positions[column], first + step); });
  };
  if (STAGES == 2) load(0, 0);
  int place = 0;
  for (int first = 0; first < p.taps; first += TILE_K) {
    if (STAGES == 1) load(first, 0);
    __syncthreads();
    // The other place was read before the barrier only.
    if (STAGES == 2 && p.taps - first > TILE_K) load(first + TILE_K, 1 - place);
#pragma unroll UNROLL
    for (int s = 0; s < TILE_K; ++s) {
      float from_w[REGISTER_M];
      float from_x[REGISTER_N];
#pragma unroll
      for (int i = 0; i < REGISTER_M; ++i) {
        from_w[i] =
            static_cast<float>(LOCAL_WEIGHTS ? tile_w[LOCAL_WEIGHTS ? place : 0][LOCAL_WEIGHTS ? s : 0][own_m + i]
                                             : weight_at(p, weights, first_m + own_m + i, first + s));
      }
#pragma unroll
      for (int j = 0; j < REGISTER_N; ++j) from_x[j] = static_cast<float>(tile_x[place][s][own_n + j]);
#pragma unroll
      for (int i = 0; i < REGISTER_M; ++i) {
#pragma unroll
        for (int j = 0; j < REGISTER_N; ++j) sums[i][j] += from_w[i] * from_x[j];
      }
    }
    if (STAGES == 1) __syncthreads();
    if (STAGES == 2) place = 1 - place;
  }

#pragma unroll
  for (int j = 0; j < REGISTER_N; ++j) {
    const int position = first_n + own_n + j;
    if (position >= p.positions) continue;
    Element* const y = static_cast<Element*>(p.y) + position / p.image_positions * p.y_image +
                       position % p.image_positions * p.y_position;
#pragma unroll
    for (int i = 0; i < REGISTER_M; ++i) {
      if (first_m + own_m + i >= p.group_filters) continue;
      const int filter = group * p.group_filters + first_m + own_m + i;
      float value = sums[i][j];
      if (BIAS) value += static_cast<float>(static_cast<const Element*>(p.bias)[filter]);
      y[filter * p.y_channel] = static_cast<Element>(activate(ACTIVATION, value));
    }
  }
}
