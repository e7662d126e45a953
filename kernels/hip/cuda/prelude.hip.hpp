// What kernels take from HIP's compiler and NVRTC lacks: stands before every kernel's text in a build for CUDA. Needs
// no header, so that kernels are compiled on machines without the toolkit too.

// A number of 16 bits; arithmetic is float.
struct HoneHalf {
  unsigned short bits;

  HoneHalf() = default;
  __device__ explicit HoneHalf(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  __device__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};

// What is loaded or stored at once.
template <unsigned long long Bytes>
struct HoneBlock;
template <>
struct HoneBlock<2> {
  using Type = unsigned short;
};
template <>
struct HoneBlock<4> {
  using Type = unsigned int;
};
template <>
struct HoneBlock<8> {
  using Type = uint2;
};
template <>
struct HoneBlock<16> {
  using Type = uint4;
};

template <bool>
struct HoneSmaller {
  template <class First, class Second>
  using Type = First;
};
template <>
struct HoneSmaller<false> {
  template <class First, class Second>
  using Type = Second;
};

// Copies neighbours between memory, where the type is the element's, and registers. AMD's GPUs load and store them at
// once wherever they lie, NVIDIA's only at multiples of their size.
template <unsigned long long Bytes, class To, class From>
__device__ void hone_copy(To* to, const From* from) {
  using Block = typename HoneBlock<Bytes>::Type;
  if constexpr (sizeof(From) < Bytes) {
    if (reinterpret_cast<unsigned long long>(from) % Bytes == 0) {
      const Block block = *reinterpret_cast<const Block*>(from);
      memcpy(to, &block, Bytes);
      return;
    }
  }
  if constexpr (sizeof(To) < Bytes) {
    if (reinterpret_cast<unsigned long long>(to) % Bytes == 0) {
      Block block;
      memcpy(&block, from, Bytes);
      *reinterpret_cast<Block*>(to) = block;
      return;
    }
  }
  using Element = typename HoneSmaller<(sizeof(From) < sizeof(To))>::template Type<From, To>;
#pragma unroll
  for (int i = 0; i < static_cast<int>(Bytes / sizeof(Element)); ++i) {
    reinterpret_cast<Element*>(to)[i] = reinterpret_cast<const Element*>(from)[i];
  }
}

#define _Float16 HoneHalf
#define __builtin_memcpy(to, from, bytes) hone_copy<bytes>(to, from)
#define __builtin_expf(x) expf(x)
#define __builtin_logf(x) logf(x)
#define __builtin_sqrtf(x) sqrtf(x)
#define __builtin_inff() __int_as_float(0x7f800000)
