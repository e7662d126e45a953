// A place where a thread is held until a test lets it go.
#pragma once

#include <condition_variable>
#include <mutex>

namespace hone::test {

class Gate {
 public:
  // Called by the thread that is held.
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  // Returns when `count` threads have arrived.
  void wait_for_arrival(int count = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

}  // namespace hone::test
