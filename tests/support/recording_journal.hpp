// A journal that remembers what it was told.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tests/support/gate.hpp"
#include "workers/stream_worker.hpp"

namespace hone::test {

// Thread-safe.
class RecordingJournal final : public workers::Journal {
 public:
  void begin_attempt(const Problem&, const Candidate& candidate) override { add("begin " + to_string(candidate)); }
  void end_attempt(const Problem&, const Candidate& candidate) override { add("end " + to_string(candidate)); }

  std::vector<std::string> entries() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  // When set, every call is held there.
  std::shared_ptr<Gate> gate;

 private:
  void add(std::string entry) {
    {
      const std::lock_guard lock(mutex_);
      entries_.push_back(std::move(entry));
    }
    if (gate) gate->pass();
  }

  mutable std::mutex mutex_;
  std::vector<std::string> entries_;
};

}  // namespace hone::test
