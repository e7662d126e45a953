// One writer thread that commits together what arrives together.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "storage/fork_guard.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// Thread-safe. All functions given to it are called on its thread, one at a time.
class Committer {
 public:
  using Commit = std::function<std::error_code(std::span<const Change>)>;
  using Done = std::function<void(std::error_code)>;

  // `commit` makes changes durable. `tick` is called at least `interval` apart while nothing is to be done.
  explicit Committer(Commit commit, std::function<void()> tick = {},
                     std::chrono::nanoseconds interval = std::chrono::seconds(5),
                     std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5));
  // Commits what is pending for at most `shutdown_timeout`, then gives the rest Errc::shut_down. A commit that has
  // begun is waited for. In a forked child it does nothing.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // The changes go into one commit, together with others that wait; then `done` gets the commit's result, once, in the
  // order of submission. In a forked child `done` gets Errc::forked inside the call.
  void submit(std::vector<Change> changes, Done done);
  // Runs the task in its turn.
  void post(std::function<void()> task);
  // Waits until all that was submitted and posted before is done; false when `timeout` came first. True at once when
  // called on the committer's own thread, where waiting would never end.
  bool flush(std::chrono::nanoseconds timeout);

 private:
  struct Entry {
    std::vector<Change> changes;
    Done done;
    std::function<void()> task;  // instead of changes
  };
  void run();
  // The next entries that go together: one task, or changes up to a bound.
  std::vector<Entry> take_group();
  void process(std::vector<Entry> group, bool abandoned);

  ForkGuard guard_;
  const Commit commit_;
  const std::function<void()> tick_;
  const std::chrono::nanoseconds interval_;
  const std::chrono::nanoseconds shutdown_timeout_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable finished_;
  std::deque<Entry> queue_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::thread thread_;
};

}  // namespace hone::storage
