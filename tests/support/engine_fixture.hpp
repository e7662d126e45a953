// An engine on a scripted device in virtual time, with a database in a directory of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <hone/hone.hpp>

#include "engine/log.hpp"
#include "tests/support/scripted_operation.hpp"
#include "tests/support/temporary_directory.hpp"

namespace hone::test {

using namespace std::chrono_literals;

// Collects an engine's events on a thread of its own.
class EventLog {
 public:
  explicit EventLog(Engine& engine) {
    subscription_ = engine.subscribe(pool_.get_executor(), [this](const Event& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      arrived_.notify_all();
    });
  }
  ~EventLog() {
    subscription_.cancel();
    pool_.join();
  }

  // Waits for an event that `matches`; fails the test when none came in a minute.
  Event wait(const std::function<bool(const Event&)>& matches) {
    std::unique_lock lock(mutex_);
    Event found;
    const bool arrived = arrived_.wait_for(lock, 60s, [&] {
      for (const Event& event : events_) {
        if (!matches(event)) continue;
        found = event;
        return true;
      }
      return false;
    });
    EXPECT_TRUE(arrived) << "the event did not come";
    return found;
  }
  Event wait(EventKind kind) {
    return wait([kind](const Event& event) { return event.kind == kind; });
  }
  std::size_t count(EventKind kind) const {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const Event& event : events_) count += event.kind == kind ? 1u : 0u;
    return count;
  }

 private:
  asio::thread_pool pool_{1};
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Event> events_;
  Subscription subscription_;
};

class EngineFixture : public ::testing::Test {
 protected:
  EngineFixture() { engine::set_log_level(LogLevel::off); }

  // An engine on a device named "scripted" whose environment is the same in every engine of the test.
  std::unique_ptr<Engine> start(std::shared_ptr<const Operation> operation, EngineOptions options = {}) {
    options.clock = clock_;
    options.log_level = LogLevel::off;
    auto engine = std::make_unique<Engine>(std::move(options));
    device_ = std::make_shared<ScriptedDevice>(clock_);
    engine->add(device_);
    engine->add(std::move(operation));
    return engine;
  }
  // The fallback is twice as slow as another solver, unless times say otherwise.
  static std::shared_ptr<const ScriptedOperation> two_solvers(std::chrono::nanoseconds fallback = 200us,
                                                              std::chrono::nanoseconds other = 100us) {
    return scripted_operation(
        {scripted_solver("fallback", {.time = fallback}), scripted_solver("other", {.time = other})});
  }
  // Everything measured at once, as fast as it goes.
  static Policy eager() {
    Policy policy = Policy::serving();
    policy.background_share = 1.0;
    return policy;
  }
  EngineOptions options(Policy policy = eager()) const {
    return {.database = directory_.path("user"), .policy = std::move(policy)};
  }

  // The solution when the background is done.
  template <class P>
  static Solution settled(Engine& engine, const P& problem) {
    auto future = engine.async_settle(problem, asio::use_future);
    if (future.wait_for(60s) != std::future_status::ready) {
      ADD_FAILURE() << "the problem did not settle";
      return {};
    }
    return future.get();
  }

  // Production reports so often that a window of observations is complete.
  static void report_window(Engine& engine, std::chrono::nanoseconds time) {
    for (int i = 0; i < 64; ++i) engine.report(engine.find(Doubling{}), time);
  }

  static std::string solver(const Solution& solution) { return solution.candidate().solver; }

  TemporaryDirectory directory_;
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<ScriptedDevice> device_;  // of the engine that was started last
};

}  // namespace hone::test
