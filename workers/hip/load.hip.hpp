// A small fixed piece of work whose time tells how loaded a GPU is: arithmetic alone, on every compute unit.
extern "C" __global__ void __launch_bounds__(256) hone_load(float* unused) {
  float a = static_cast<float>(threadIdx.x), b = 0.5F, c = 0.25F, d = 0.125F;
#pragma unroll 1
  for (int i = 0; i < 4096; ++i) {
    a = a * 0.999F + b;
    b = b * 0.998F + c;
    c = c * 0.997F + d;
    d = d * 0.996F + a;
  }
  // Never, but the compiler does not know.
  if (a + b + c + d == -1.0F) *unused = a;
}
