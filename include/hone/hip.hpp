// GPUs: AMD's by HIP, or NVIDIA's by CUDA, as HONE_GPU said when hone was built. Link hone::hip, which exists where
// the one or the other was found.
#pragma once

#include <chrono>
#include <cstdint>
#include <hone/device.hpp>
#include <memory>
#include <string>

namespace hone {

struct HipOptions {
  // Nothing can end a kernel that hangs: a device whose work takes longer than this is given up.
  std::chrono::nanoseconds hang_timeout = std::chrono::seconds(30);
  // Kernels are compiled in processes of this program, and one compilation may take so much time and memory. Empty: the
  // one that is installed with hone::hip.
  std::string compiler = {};
  std::chrono::milliseconds compile_timeout = std::chrono::minutes(1);
  std::uint64_t compile_memory_bytes = std::uint64_t{4} << 30;
};

// GPUs that HIP (CUDA) sees; 0 also where there is no driver. Thread-safe.
int hip_device_count() noexcept;

// The GPU `ordinal`, named "hip:<ordinal>". Its background streams have the lowest priority, and no stream of hone's
// waits for the default stream or is waited for by it; hone's calls are safe while another thread captures a graph.
//
// An error after which HIP's (CUDA's) documentation promises nothing (an illegal address, a failed launch, an
// uncorrectable memory error, a vanished device), or a hang, puts the device out of service: from then on everything
// answers Errc::no_device at once. Throws Error(no_device) saying what was found.
std::shared_ptr<Device> hip_device(int ordinal = 0, HipOptions options = {});

// The caller's own stream, a hipStream_t (cudaStream_t) of that device, for the launches of solutions. It must outlive
// what is returned. Launching works while the stream is captured; scratch memory stays until the Stream is destroyed,
// so a graph with such launches must not be launched after that. Throws Error(invalid_option) for a device that
// hip_device did not make.
std::unique_ptr<Stream> hip_stream(const std::shared_ptr<Device>& device, void* stream);

}  // namespace hone
