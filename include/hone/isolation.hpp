// Measuring in a process of its own, so that a candidate that crashes, hangs or damages memory costs nothing else.
//
// The process is started by an engine whose policy says `isolate`, from EngineOptions::isolation_program. That program
// calls serve_isolated at the top of main. It may be the server's own:
//
//   int main(int argc, char** argv) {
//     hone::serve_isolated(argc, argv, [] {
//       return hone::Isolated{{hone::host_device()}, {hone::gemm::operation()}};
//     });
//     hone::EngineOptions options{.isolation_program = {"/proc/self/exe"}};
//     options.policy.isolate = true;
//     ...
#pragma once

#include <functional>
#include <hone/device.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <vector>

namespace hone {

// What an isolated process can measure: the same devices and operations as the engine has.
struct Isolated {
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::shared_ptr<const Operation>> operations;
};

// Returns at once, without calling `make`, unless an engine started this process to measure in it; then it serves that
// engine and never returns. To be called before anything else: the process is killed when its engine ends, its standard
// streams lead nowhere, no other file is open, and it must open no database.
void serve_isolated(int argc, char** argv, const std::function<Isolated()>& make);

}  // namespace hone
