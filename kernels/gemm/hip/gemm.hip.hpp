// The matrix product C = activation(alpha op(A) op(B) + beta C + bias) for GPUs.
//
// One text for HIP's run-time compiler and, with the few words of the language defined as macros, for the host's
// compiler, where an emulator runs it work-item by work-item. So: no header but the argument's, and nothing but C++,
// blockIdx, threadIdx, __shared__ and __syncthreads. It may be included several times, each time in a namespace of its
// own.
//
// A work-group computes a tile of C; a work-item computes REGISTER_M x REGISTER_N neighbours of it. The operands go
// TILE_K steps at a time through local memory, or straight to registers.
//
//   ELEMENT                 the type of A, B, C and bias; sums are float
//   TRANSPOSE_A/_B, BIAS    0 or 1
//   ACTIVATION              0: none, 1: relu, 2: gelu by tanh
//   THREADS_M, THREADS_N    work-items of a group along m and n
//   REGISTER_M, REGISTER_N  elements of C of a work-item along m and n
//   TILE_K                  steps of k at a time
//   LOCAL_A, LOCAL_B        whether the operand goes through local memory
//   STAGES                  tiles in local memory: 2 loads the next one while this one is used
//   PADDING                 elements behind each row of a tile, against bank conflicts
//   VECTOR                  neighbours that a work-item loads at once
//   UNROLL                  steps of the inner loop that are unrolled
//   SPLIT                   1: split_k work-groups share the k of a tile, and gemm_join adds their sums up
#include "kernels/gemm/hip/arguments.hpp"

#ifndef KERNEL
#define KERNEL extern "C" __global__
#endif
#ifndef EXPONENTIAL
#define EXPONENTIAL(x) __builtin_expf(x)
#endif
#include "kernels/hip/activation.hip.hpp"

using hone::gemm::hip::Arguments;
using Element = ELEMENT;

constexpr int tile_m = THREADS_M * REGISTER_M;
constexpr int tile_n = THREADS_N * REGISTER_N;
constexpr int work_group = THREADS_M * THREADS_N;

// Neighbours in memory, aligned as one of them.
struct Neighbours {
  Element element[VECTOR];
};

// One operand's part in a work-group: `rows` of m or n from `first` on, steps of k up to `end`. Either steps or rows
// are neighbours in memory; `ld` elements lie between the others.
template <bool StepsAreNeighbours>
struct Source {
  const Element* data;
  long long ld;
  int rows;
  int end;

  __device__ const Element* at(int row, int step) const {
    return StepsAreNeighbours ? data + row * ld + step : data + step * ld + row;
  }
  __device__ bool inside(int row, int step) const { return row < rows && step < end; }
  // Zero outside.
  __device__ Element load(int row, int step) const {
    return inside(row, step) ? *at(row, step) : static_cast<Element>(0.0F);
  }
  __device__ Neighbours load_neighbours(int row, int step) const {
    Neighbours result;
    const int last = VECTOR - 1;
    if (StepsAreNeighbours ? inside(row, step + last) : inside(row + last, step)) {
      __builtin_memcpy(&result, at(row, step), sizeof result);
    } else {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        result.element[v] = StepsAreNeighbours ? load(row, step + v) : load(row + v, step);
      }
    }
    return result;
  }
};

// Copies rows first .. first + Rows and steps step .. step + TILE_K to local memory, the rows of one step side by side.
template <int Rows, bool StepsAreNeighbours>
__device__ void stage(Element (*tile)[Rows + PADDING], const Source<StepsAreNeighbours>& source, int first, int step) {
  constexpr int loads = (StepsAreNeighbours ? TILE_K : Rows) / VECTOR;
  constexpr int lines = StepsAreNeighbours ? Rows : TILE_K;
#pragma unroll
  for (int i = 0; i < (loads * lines + work_group - 1) / work_group; ++i) {
    const int item = i * work_group + static_cast<int>(threadIdx.x);
    if (loads * lines % work_group != 0 && item >= loads * lines) break;
    const int line = item / loads;
    const int place = item % loads * VECTOR;
    const int row = StepsAreNeighbours ? line : place;
    const int at = StepsAreNeighbours ? place : line;
    const Neighbours neighbours = source.load_neighbours(first + row, step + at);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      if (StepsAreNeighbours) {
        tile[at + v][row] = neighbours.element[v];
      } else {
        tile[at][row + v] = neighbours.element[v];
      }
    }
  }
}

// Writes one element of C from its sum.
__device__ void finish(const Arguments& p, int batch, int row, int column, float sum) {
  Element* const target = static_cast<Element*>(p.c) + batch * p.stride_c + row * p.ldc + column;
  float value = p.alpha * sum;
  if (p.beta != 0) value += p.beta * static_cast<float>(*target);
  if (BIAS) value += static_cast<float>(static_cast<const Element*>(p.bias)[column]);
  *target = static_cast<Element>(activate(ACTIVATION, value));
}

KERNEL void __launch_bounds__(work_group) gemm(Arguments p) {
  // Never of size 0, as a tile that is not used would be.
  __shared__ Element tile_a[LOCAL_A ? STAGES : 1][LOCAL_A ? TILE_K : 1][tile_m + PADDING];
  __shared__ Element tile_b[LOCAL_B ? STAGES : 1][LOCAL_B ? TILE_K : 1][tile_n + PADDING];
  const int tiles_n = (p.n + tile_n - 1) / tile_n;
  const int first_m = static_cast<int>(blockIdx.x) / tiles_n * tile_m;
  const int first_n = static_cast<int>(blockIdx.x) % tiles_n * tile_n;
  const int batch = static_cast<int>(blockIdx.z) / p.split_k;
  const int part = static_cast<int>(blockIdx.z) % p.split_k;
  // Whole tiles a part, so that only the last one has a rest; parts behind the end have nothing.
  const int tiles_k = (p.k + TILE_K - 1) / TILE_K;
  const int part_tiles = (tiles_k + p.split_k - 1) / p.split_k;
  const int begin = SPLIT ? part * part_tiles * TILE_K : 0;
  const int end = SPLIT && p.k - begin > part_tiles * TILE_K ? begin + part_tiles * TILE_K : p.k;

  const Source<!TRANSPOSE_A> a{static_cast<const Element*>(p.a) + batch * p.stride_a, p.lda, p.m, end};
  const Source<TRANSPOSE_B> b{static_cast<const Element*>(p.b) + batch * p.stride_b, p.ldb, p.n, end};
  const int own_m = static_cast<int>(threadIdx.x) / THREADS_N * REGISTER_M;
  const int own_n = static_cast<int>(threadIdx.x) % THREADS_N * REGISTER_N;
  float sums[REGISTER_M][REGISTER_N] = {};

  constexpr bool local = LOCAL_A || LOCAL_B;
  const auto load = [&](int step, int place) {
    if (LOCAL_A) stage<tile_m>(tile_a[place], a, first_m, step);
    if (LOCAL_B) stage<tile_n>(tile_b[place], b, first_n, step);
  };
  if (local && STAGES == 2) load(begin, 0);
  int place = 0;
  for (int step = begin; step < end; step += TILE_K) {
    if (local && STAGES == 1) load(step, 0);
    if (local) __syncthreads();
    // The other place was read before the barrier only.
    if (local && STAGES == 2 && end - step > TILE_K) load(step + TILE_K, 1 - place);
#pragma unroll UNROLL
    for (int s = 0; s < TILE_K; ++s) {
      float from_a[REGISTER_M];
      float from_b[REGISTER_N];
#pragma unroll
      for (int i = 0; i < REGISTER_M; ++i) {
        from_a[i] = static_cast<float>(LOCAL_A ? tile_a[LOCAL_A ? place : 0][LOCAL_A ? s : 0][own_m + i]
                                               : a.load(first_m + own_m + i, step + s));
      }
#pragma unroll
      for (int j = 0; j < REGISTER_N; ++j) {
        from_b[j] = static_cast<float>(LOCAL_B ? tile_b[LOCAL_B ? place : 0][LOCAL_B ? s : 0][own_n + j]
                                               : b.load(first_n + own_n + j, step + s));
      }
#pragma unroll
      for (int i = 0; i < REGISTER_M; ++i) {
#pragma unroll
        for (int j = 0; j < REGISTER_N; ++j) sums[i][j] += from_a[i] * from_b[j];
      }
    }
    if (local && STAGES == 1) __syncthreads();
    if (STAGES == 2) place = 1 - place;
  }

#pragma unroll
  for (int i = 0; i < REGISTER_M; ++i) {
#pragma unroll
    for (int j = 0; j < REGISTER_N; ++j) {
      const int row = first_m + own_m + i;
      const int column = first_n + own_n + j;
      if (row >= p.m || column >= p.n) continue;
      if (SPLIT) {
        p.parts[(static_cast<long long>(blockIdx.z) * p.m + row) * p.n + column] = sums[i][j];
      } else {
        finish(p, batch, row, column, sums[i][j]);
      }
    }
  }
}

#if SPLIT
// Adds the parts up in their order, so that the result is the same every time. A work-item an element of C; x counts
// the elements of a matrix, z the matrices.
KERNEL void __launch_bounds__(JOIN_WORK_GROUP) gemm_join(Arguments p) {
  const long long elements = static_cast<long long>(p.m) * p.n;
  const long long element = static_cast<long long>(blockIdx.x) * JOIN_WORK_GROUP + threadIdx.x;
  if (element >= elements) return;
  const int batch = static_cast<int>(blockIdx.z);
  const float* part = p.parts + batch * p.split_k * elements + element;
  float sum = 0;
  for (int i = 0; i < p.split_k; ++i, part += elements) sum += *part;
  finish(p, batch, static_cast<int>(element / p.n), static_cast<int>(element % p.n), sum);
}
#endif
