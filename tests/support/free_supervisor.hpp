// A supervisor that never stops a job.
#pragma once

#include "workers/supervisor.hpp"

namespace hone::test {

class FreeSupervisor final : public workers::Supervisor {
 public:
  bool proceed() override { return proceeds_left_ == 0 || --proceeds_left_ > 0; }
  void begin(const Candidate&) override {
    ++open_;
    ++brackets_;
  }
  void end() noexcept override { --open_; }
  std::chrono::nanoseconds busy() const override { return {}; }

  // Stops the job at the n-th question.
  void stop_after(int questions) { proceeds_left_ = questions; }
  int open_brackets() const noexcept { return open_; }
  int brackets() const noexcept { return brackets_; }

 private:
  int proceeds_left_ = 0;
  int open_ = 0;
  int brackets_ = 0;
};

}  // namespace hone::test
