// The activation at the end of an operation, for every GPU kernel: 0 none, 1 relu, 2 gelu by tanh. Included
// as often as the kernels are, each time in their namespace.

__device__ float activate(int activation, float x) {
  if (activation == 1) return x > 0 ? x : 0;
  if (activation == 2) {
    // x (1 + tanh u) / 2 = x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
    const float u = 0.797884561F * x * (1.0F + 0.044715F * x * x);
    return x / (1.0F + EXPONENTIAL(-2.0F * u));
  }
  return x;
}
