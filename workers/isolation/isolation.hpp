// A worker's view of the process that measures for it: a device, a stream and invokers that stand for those over there.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <hone/device.hpp>
#include <hone/problem.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/compile_threads.hpp"
#include "workers/isolation/child_process.hpp"
#include "workers/job.hpp"

namespace hone::workers {

struct IsolationOptions {
  std::vector<std::string> program;  // path and arguments
  std::uint64_t memory_bytes = 0;    // that the process can use; 0: no limit
  friend bool operator==(const IsolationOptions&, const IsolationOptions&) = default;
};

// The process is started when it is first needed, and again when it has ended: buffers and invokers then exist there
// again. A candidate is blamed for the end of a process only where no other candidate was in it; else it is tried once
// more in a new one, for what another has damaged is not its fault.
//
// What an invoker or the stream returns tells how a process ended by process_end_category. Members throw
// Error(no_isolation) when no process can be started. They belong to the worker's thread, except interrupt and close.
class Isolation {
 public:
  // `device`: the engine's own. Starts nothing.
  Isolation(IsolationOptions options, std::shared_ptr<Device> device);
  ~Isolation();
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  const IsolationOptions& options() const noexcept;
  // Its buffers are numbers that mean something over there only; contents are copied there and back.
  Device& device() noexcept;
  Stream& stream() noexcept;
  // Prepares the candidate over there.
  Preparation prepare(const Subject& subject, const Candidate& candidate);
  // Called after the process was started again, to fill the buffers. Empty: nothing is.
  void on_restart(std::function<void()> refill);
  // Ends a process that a wrong candidate may have damaged. True when others were in it too, and may have damaged the
  // candidate.
  bool discard();

  // Any thread. Kills the process, which hangs; false when none runs or the candidate came back meanwhile.
  bool interrupt() noexcept;
  // Any thread. Kills the process for good.
  void close() noexcept;

 private:
  class Link;
  class RemoteDevice;
  class RemoteStream;
  class RemoteInvoker;

  std::shared_ptr<Link> link_;  // outlived by no buffer and no invoker
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace hone::workers
