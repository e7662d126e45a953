// Links the installed hone and multiplies two matrices.
#include <cstdio>
#include <vector>

#include <hone/gemm.hpp>
#include <hone/hone.hpp>

int main() {
  hone::Engine engine({.policy = hone::Policy::frozen()});
  engine.add(hone::host_device());
  engine.add(hone::gemm::operation());
  const std::vector<float> a(6, 2.0F), b(12, 3.0F);
  std::vector<float> c(8);
  const auto stream = hone::host_stream();
  const hone::Solution solution = engine.find(hone::gemm::Problem{.m = 2, .n = 4, .k = 3});
  const std::error_code error = solution.run(*stream, {a.data(), b.data(), c.data()});
  std::printf("%s: %g\n", hone::to_string(solution.candidate()).c_str(), c[7]);
  return !error && c[0] == 18.0F && c[7] == 18.0F ? 0 : 1;
}
