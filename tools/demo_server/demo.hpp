// The main job: an inference server in small, honed while it serves, then compared with each library alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tools/demo_server/encoder.hpp"
#include "tools/demo_server/latencies.hpp"
#include "tools/demo_server/summary.hpp"

namespace hone::demo {

struct DemoOptions {
  std::string text = "/usr/share/common-licenses";
  std::string database;  // a folder; "" makes one that is removed at the end
  Duration seconds{30};  // of all that is measured together
  std::size_t sentences = 256;
  std::uint64_t seed = 1;
  std::vector<std::string> isolation_program;  // for HONE_ISOLATE
  Shape shape;
};

// Serves, prints the live table to `out`, and returns the summary; ends early when `interrupted` answers true. Throws
// hone::Error for bad options.
Summary run_demo(const DemoOptions& options, const std::function<bool()>& interrupted, std::FILE* out);

}  // namespace hone::demo
