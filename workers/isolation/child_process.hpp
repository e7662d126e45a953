// A child process that is spoken to over a socket, and how it ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hone/trial.hpp>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "workers/isolation/message.hpp"

namespace hone::workers {

// How a process ended, as an error code: "its process was ended by signal 11 (Segmentation fault)".
const std::error_category& process_end_category() noexcept;
// The trial of a candidate that ended its process this way; `otherwise` for an error of another kind.
TrialStatus status_of(std::error_code error, TrialStatus otherwise) noexcept;

// A started program in a process group of its own, which is killed with this object. Members belong to one thread,
// except interrupt().
class ChildProcess {
 public:
  // Starts the program, its path and arguments, with the isolation's arguments behind them; it can use at most
  // `memory_bytes`, 0: no limit. Dies with the calling thread. Throws Error(no_isolation).
  ChildProcess(const std::vector<std::string>& program, std::uint64_t memory_bytes);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Memory that the process sees too.
  std::span<std::byte> staging() const noexcept { return {staging_, staging_bytes}; }
  // Sends the request and waits for the reply, at most `timeout`; zero: as long as it takes. For `awake` it keeps
  // looking instead of sleeping. Nothing when the process ended, was interrupted, or sent what is no reply: then it is
  // ended and end() says how.
  std::optional<Reply> ask(const MessageWriter& request, std::chrono::milliseconds timeout,
                           std::chrono::nanoseconds awake = std::chrono::nanoseconds::zero());
  // The code of process_end_category; empty while it runs.
  std::error_code end() const noexcept { return end_; }
  // True when it has ended unasked.
  bool ended();
  // Ends it because its device serves it no more; another process may be served.
  void lose_device() noexcept;
  // Kills it because it hangs. Any thread.
  void interrupt() noexcept;

  pid_t id() const noexcept { return id_; }

 private:
  void start(const std::vector<std::string>& program, std::uint64_t memory_bytes, int child_socket, int staging_file);
  enum class Readiness { message, ended, timed_out };
  Readiness wait(std::chrono::milliseconds timeout, std::chrono::nanoseconds awake) const noexcept;
  // `fault`: what it did, as a value of the category; 0: its end tells.
  void finish(int fault = 0) noexcept;
  void close_all() noexcept;

  pid_t id_ = -1;
  int socket_ = -1;
  int process_ = -1;  // readable when the process has ended
  std::byte* staging_ = nullptr;
  std::error_code end_;
  std::mutex mutex_;
  bool reaped_ = false;       // guarded: the id may name another process
  bool interrupted_ = false;  // guarded
};

}  // namespace hone::workers
