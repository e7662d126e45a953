// What the functions of the emulated HIP runtime share.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/hip_runtime/emulated_hip.hpp"

struct ihipStream_t {
  ihipStream_t(unsigned of_flags, int of_priority);
  ~ihipStream_t();  // when its work is done
  void enqueue(std::function<void()> work);
  bool idle();
  void wait();

  const unsigned flags;
  const int priority;
  // Guarded by the state's mutex.
  bool captured = false;
  bool broken = false;  // the capture
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;

 private:
  void serve();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false;
  bool end_ = false;
  std::thread thread_;
};

// May be destroyed before its recording is reached.
struct ihipEvent_t {
  struct Recorded {
    std::mutex mutex;
    int recordings = 0;  // that have not been reached
    bool reached = false;
    std::chrono::steady_clock::time_point time;
  };
  const std::shared_ptr<Recorded> recorded = std::make_shared<Recorded>();
};

struct ihipModuleSymbol_t {
  std::size_t bytes;
  std::function<void(const hone::test::EmulatedLaunch&)> run;
};

struct ihipModule_t {
  std::map<std::string, ihipModuleSymbol_t, std::less<>> kernels;
};

namespace hone::test {

struct EmulatedHip::State {
  // At the beginning of every function: counts the call, and returns what a lost device or a sticky error left.
  hipError_t enter(const char* function);
  bool meets(HipFault fault);
  void complain(std::string what);
  ihipStream_t& stream_of(hipStream_t stream);

  void* allocate(std::size_t bytes);
  void release(void* memory);
  bool owns(const void* memory, std::size_t bytes) const;  // the mutex is held
  // Device memory is open while any exists.
  struct Access {
    Access();
    ~Access();
  };

  mutable std::mutex mutex;
  std::condition_variable hang_ends;
  int devices = 1;
  bool pools = true;
  HipFault fault = HipFault::none;
  int later = 0;
  bool hangs_end = false;
  hipError_t sticky = hipSuccess;
  std::map<std::string, int, std::less<>> calls;
  std::vector<std::string> complaints;
  struct Allocation {
    std::size_t bytes;
    std::byte* pages;
    std::size_t page_bytes;  // with a closed page behind the end
  };
  std::map<std::byte*, Allocation> allocations;
  int accesses = 0;
  std::map<std::string, std::map<std::string, ihipModuleSymbol_t, std::less<>>, std::less<>> code;
  std::set<ihipModule_t*> modules;
  std::set<ihipStream_t*> streams;
  std::unique_ptr<ihipStream_t> default_stream;
  int default_stream_uses = 0;
  int last_priority = 0;
  unsigned last_flags = 0;
};

}  // namespace hone::test
