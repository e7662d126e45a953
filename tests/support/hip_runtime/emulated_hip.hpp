// HIP's runtime on the CPU, as far as hone calls it: a test double of what its functions promise and of how they fail,
// linked in place of the library. Nothing about its speed means anything.
//
// A stream is a thread. Device memory can be read and written only while work of a stream runs: the host's own access
// faults, as does one behind the end of an allocation or after it was freed. A code object is a text that names kernels
// which the test has added, or an ELF file with that text behind its header. Calls that would break a capture in
// another thread break it here too.
#pragma once

#include <hip/hip_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {

struct EmulatedLaunch {
  std::array<std::uint32_t, 3> groups;
  std::uint32_t work_group;
  const void* argument;  // the first and only one
};

enum class HipFault {
  none,
  out_of_memory,    // the next allocation
  launch_refused,   // the next launch: out of resources, and nothing more
  illegal_address,  // the next kernel, found when it runs: nothing works after it
  hang,             // the next kernel never ends
  device_lost,      // from the next call on
  clock_backwards,  // the time between the next two events, and so on
  clock_stands,
  clock_races,
};

// One in a process; all members are thread-safe.
class EmulatedHip {
 public:
  static EmulatedHip& get();

  // Ends all work and forgets everything. No hone object may be left.
  void reset(int devices = 1);
  // After `later` more operations that could meet it.
  void inject(HipFault fault, int later = 0);
  // A device whose memory has no pools.
  void remove_pools();
  // A code object is the text `code`; its kernel's argument has `bytes`.
  void add_kernel(std::string code, std::string kernel, std::size_t bytes,
                  std::function<void(const EmulatedLaunch&)> run);

  // What was done that HIP's documentation forbids, since the last reset.
  std::vector<std::string> complaints() const;
  std::size_t allocations() const;  // that live
  std::size_t modules() const;      // that are loaded
  int calls(std::string_view function) const;
  int default_stream_uses() const;
  // The priority of the stream made last, and its flags.
  int last_priority() const;
  unsigned last_flags() const;

  struct State;
  State& state() noexcept { return *state_; }

 private:
  EmulatedHip();
  ~EmulatedHip();
  const std::unique_ptr<State> state_;
};

}  // namespace hone::test
