// Events: what the background tells the program.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <hone/candidate.hpp>
#include <hone/problem.hpp>
#include <hone/solution.hpp>
#include <hone/verdict.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace hone {

enum class EventKind : std::uint8_t {
  upgraded,         // `after` replaced `before`; stored durably (unless the store is degraded) before this event
  offered,          // `after` is to replace `before` when the program agrees, see `offer`
  rolled_back,      // an upgrade turned out slower than what it had replaced: `after` is its predecessor
  prepared,         // a stored candidate that had to be compiled is ready and published
  withdrawn,        // the answer failed and was taken out of service; `after` stands in, empty when nothing does
  verified,         // `verdict` and `ratio` of measured to reported time
  tuned,            // a tuning job ended; `cause` says why the search stopped
  quarantined,      // `after` names the candidate; `cause` is its failure
  job_dropped,      // left undone, `cause` says why: the queue was full, or the job cannot pay for itself
  job_failed,       // a job ended without a result; `cause` says why
  store_degraded,   // the engine runs from memory; `cause` and `remedy`
  store_damaged,    // a stored value failed its check and was set aside; `cause` says where
  store_recovered,  // the store works again and holds what was learned meanwhile
  device_lost,      // a device is out of service: nothing more is measured on it; `cause`
};
constexpr std::array<std::string_view, 14> symbols(EventKind) noexcept {
  return {"upgraded",       "offered",       "rolled_back",     "prepared",    "withdrawn",
          "verified",       "tuned",         "quarantined",     "job_dropped", "job_failed",
          "store_degraded", "store_damaged", "store_recovered", "device_lost"};
}

// The program's choice about one upgrade (Policy::adopt == ask). The first answer counts, and it counts until a newer
// offer, or another answer, is there for the problem. What is never answered is offered again in a later process.
// Copies are the same offer. Any thread; never waits; does nothing after the engine's end.
class Offer {
 public:
  Offer() noexcept = default;
  // `answer` is called with true for adopt(); it must not throw.
  explicit Offer(std::function<void(bool)> answer)
      : answer_(std::make_shared<const std::function<void(bool)>>(std::move(answer))) {}
  // True in an `offered` event.
  explicit operator bool() const noexcept { return answer_ != nullptr; }
  // Stores and publishes the upgrade: an `upgraded` (or `prepared`, `rolled_back`) event tells when it is done.
  void adopt() const noexcept { answer(true); }
  // Keeps what answers now, and stores that it was kept.
  void decline() const noexcept { answer(false); }

 private:
  void answer(bool adopted) const noexcept {
    if (answer_) (*answer_)(adopted);
  }
  std::shared_ptr<const std::function<void(bool)>> answer_;
};

// Plain data but for the offer; what a kind does not use is empty.
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
  Offer offer;
};

// Ends a subscription when destroyed: afterwards its callback does not run and is not running, unless the destructor is
// called from inside that callback, and the engine does not touch the executor any more, so that its context may be
// destroyed. Movable.
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
