// Events: what the background tells the program.
#pragma once

#include <array>
#include <cstdint>
#include <hone/candidate.hpp>
#include <hone/problem.hpp>
#include <hone/solution.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace hone {

// What a verification concluded.
enum class Verdict : std::uint8_t { accept, re_rank, tune, inconclusive, failed };
constexpr std::array<std::string_view, 5> symbols(Verdict) noexcept {
  return {"accept", "re_rank", "tune", "inconclusive", "failed"};
}

enum class EventKind : std::uint8_t {
  upgraded,         // `after` replaced `before`; stored durably (unless the store is degraded) before this event
  prepared,         // a stored candidate that had to be compiled is ready and published
  withdrawn,        // the answer failed and was taken out of service; `after` stands in, empty when nothing does
  verified,         // `verdict` and `ratio` of measured to reported time
  tuned,            // a tuning job ended; `cause` says why the search stopped
  quarantined,      // `after` names the candidate; `cause` is its failure
  job_dropped,      // the queue was full and this problem was the coldest
  job_failed,       // a job ended without a result; `cause` says why
  store_degraded,   // the engine runs from memory; `cause` and `remedy`
  store_damaged,    // a stored value failed its check and was set aside; `cause` says where
  store_recovered,  // the store works again and holds what was learned meanwhile
  device_lost,      // a device is out of service
};
constexpr std::array<std::string_view, 12> symbols(EventKind) noexcept {
  return {"upgraded",    "prepared",   "withdrawn",      "verified",      "tuned",           "quarantined",
          "job_dropped", "job_failed", "store_degraded", "store_damaged", "store_recovered", "device_lost"};
}

// Plain data; what a kind does not use is empty.
struct Event {
  EventKind kind{};
  std::string problem;  // canonical text
  ProblemKey key;
  std::string device;
  Candidate before;
  Candidate after;
  Timing before_timing;
  Timing after_timing;
  Verdict verdict{};
  double ratio = 0;  // measured over reported time; 0 when there is none
  std::error_code error;
  std::string cause;
  std::string remedy;
};

// Ends a subscription when destroyed: afterwards its callback does not run and is not running, unless the destructor is
// called from inside that callback. Movable.
class Subscription {
 public:
  class Channel;  // internal
  Subscription() noexcept = default;
  explicit Subscription(std::shared_ptr<Channel> channel) noexcept : channel_(std::move(channel)) {}
  Subscription(Subscription&&) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();
  // The same as destruction.
  void cancel() noexcept;

 private:
  std::shared_ptr<Channel> channel_;
};

}  // namespace hone
