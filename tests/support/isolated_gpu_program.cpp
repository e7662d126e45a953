// What the tests of GPUs measure in: a process with an emulated GPU of its own. With a path as its argument, the first
// such process makes a file there and then meets an illegal address.
#include <unistd.h>

#include <cstdio>
#include <hone/isolation.hpp>

#include "tests/kernels/hip/emulated_gemm.hpp"

int main(int argc, char** argv) {
  using namespace hone::gemm::hip;
  hone::serve_isolated(argc, argv, [&] {
    EmulatedHip::get().reset();
    add_kernels(EmulatedHip::get());
    if (argv[1][0] == '/' && access(argv[1], F_OK) != 0) {
      std::fclose(std::fopen(argv[1], "w"));
      EmulatedHip::get().inject(hone::test::HipFault::illegal_address, 40);
    }
    return hone::Isolated{{hone::hip::make_device(0, {}, std::make_unique<EmulatedCompiler>())},
                          {hone::gemm::operation()}};
  });
  return 1;
}
