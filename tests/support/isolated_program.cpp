// What the tests of isolation measure in. Run in any other way it does nothing and fails.
#include "tests/support/faulty_operation.hpp"

int main(int argc, char** argv) {
  hone::serve_isolated(argc, argv,
                       [] { return hone::Isolated{{hone::host_device()}, {hone::test::every_fault(4096)}}; });
  return 1;
}
