// The process that compiles for hone::hip: nothing of HIP's compiler runs in the server. Not to be started by hand.
#include <cstdio>

#include "workers/compile/child_compiler.hpp"
#include "workers/compile/hiprtc.hpp"

int main(int argc, char** argv) {
  hone::workers::serve_compiler(argc, argv, hone::workers::compile_by_hiprtc);
  std::fputs("hone-hip-compiler is started by programs that use hone::hip; it does nothing by itself\n", stderr);
  return 2;
}
