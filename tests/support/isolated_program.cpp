// What the tests of isolation measure in. With the argument "hang" it is an engine's worker instead, with a candidate
// that does not come back.
#include <string_view>

#include "tests/support/faulty_operation.hpp"
#include "tests/support/recording_journal.hpp"
#include "workers/stream_worker.hpp"

int main(int argc, char** argv) {
  hone::serve_isolated(argc, argv, [] {
    return hone::Isolated{{hone::host_device()}, {hone::test::every_fault(4096)}};
  });
  if (argc != 2 || std::string_view(argv[1]) != "hang") return 1;
  hone::workers::WorkerOptions options;
  options.isolation = hone::workers::IsolationOptions{.program = {argv[0]}};
  hone::workers::StreamWorker worker(hone::host_device(), hone::system_clock(),
                                     std::make_shared<hone::test::RecordingJournal>(), options);
  hone::workers::PrepareJob job{{hone::Problem(hone::test::Increment{}), hone::test::faulty_operation({"hangs"}), {}},
                                {"hangs", 1, ""}};
  worker.submit(job, [](hone::workers::Outcome) {});
  for (;;) pause();
}
