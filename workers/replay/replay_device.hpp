// A device that answers from recorded measurements, in virtual time.
#pragma once

#include <chrono>
#include <hone/device.hpp>
#include <hone/operation.hpp>
#include <memory>
#include <string>

#include "workers/replay/recorded_space.hpp"
#include "workers/replay/virtual_clock.hpp"

namespace hone::workers {

// Memory is the host's; time is the clock's, which compiling and runs move forward. Thread-safe.
class ReplayDevice final : public Device {
 public:
  ReplayDevice(std::string name, std::shared_ptr<VirtualClock> clock);

  const std::string& name() const noexcept override { return name_; }
  const Environment& environment() const noexcept override { return environment_; }
  std::unique_ptr<Stream> make_stream(StreamPriority priority) override;
  Buffer allocate(std::size_t bytes) override;
  void copy_to_device(std::byte* target, std::span<const std::byte> source) override;
  void copy_to_host(std::span<std::byte> target, const std::byte* source) override;
  std::size_t last_level_cache_bytes() const noexcept override { return 0; }

  VirtualClock& clock() const noexcept { return *clock_; }

 private:
  std::string name_;
  Environment environment_;
  std::shared_ptr<VirtualClock> clock_;
};

// An operation named "recorded" and the space's name, with two solvers that run on a ReplayDevice only: "recorded" has
// the recorded space, takes the recorded time for compiling and for each run in turn, and fails where the record says
// so; "first" is the first recorded configuration that ran, ready without compiling. Its one operand is an output of
// one f32 that every run sets to 1. Problems differ in the field "instance" only.
std::shared_ptr<const Operation> replay_operation(std::shared_ptr<const RecordedSpace> space);

}  // namespace hone::workers
