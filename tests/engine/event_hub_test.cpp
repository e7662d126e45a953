#include "engine/event_hub.hpp"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <asio/execution.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>

#include "engine/log.hpp"
#include "tests/support/gate.hpp"

namespace hone::engine {
namespace {

Event numbered(int number) {
  Event event;
  event.problem = std::to_string(number);
  return event;
}

TEST(EventHub, PostsToTheExecutorAndNeverCallsInside) {
  EventHub hub;
  asio::io_context context;
  std::vector<std::string> heard;
  const Subscription subscription =
      hub.subscribe(context.get_executor(), [&](const Event& event) { heard.push_back(event.problem); });
  hub.emit(numbered(1));
  hub.emit(numbered(2));
  EXPECT_TRUE(heard.empty());
  context.run();
  EXPECT_EQ(heard, (std::vector<std::string>{"1", "2"}));
}

TEST(EventHub, TellsALateSubscriberThePresentState) {
  EventHub hub;
  asio::io_context context;
  std::vector<std::string> heard;
  const Subscription subscription = hub.subscribe(
      context.get_executor(), [&](const Event& event) { heard.push_back(event.problem); }, numbered(7));
  hub.emit(numbered(8));
  context.run();
  EXPECT_EQ(heard, (std::vector<std::string>{"7", "8"}));
}

TEST(Subscription, IsSilentAfterItsEndAlsoForEventsOnTheirWay) {
  EventHub hub;
  asio::io_context context;
  int heard = 0;
  {
    const Subscription subscription = hub.subscribe(context.get_executor(), [&](const Event&) { ++heard; });
    hub.emit(numbered(1));
  }
  hub.emit(numbered(2));
  context.run();
  EXPECT_EQ(heard, 0);
}

TEST(Subscription, MayEndItselfInItsCallback) {
  EventHub hub;
  asio::io_context context;
  int heard = 0;
  Subscription subscription;
  subscription = hub.subscribe(context.get_executor(), [&](const Event&) {
    ++heard;
    subscription.cancel();
  });
  hub.emit(numbered(1));
  hub.emit(numbered(2));
  context.run();
  EXPECT_EQ(heard, 1);
}

// The order "callback begins, then the subscription ends": the end waits.
TEST(Subscription, EndWaitsForARunningCallback) {
  EventHub hub;
  asio::thread_pool pool(1);
  test::Gate gate;
  std::atomic<bool> returned{false};
  Subscription subscription = hub.subscribe(pool.get_executor(), [&](const Event&) {
    gate.pass();
    returned = true;
  });
  hub.emit(numbered(1));
  gate.wait_for_arrival();
  std::thread opener([&] { gate.open(); });
  subscription.cancel();
  EXPECT_TRUE(returned);
  opener.join();
  pool.join();
}

// An executor whose post has handed the function over and has not returned.
struct SlowToReturn {
  asio::io_context* context;
  test::Gate* gate;
  template <class Function>
  void execute(Function function) const {
    asio::post(*context, std::move(function));
    gate->pass();
  }
  bool operator==(const SlowToReturn&) const noexcept = default;
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *context; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  SlowToReturn require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
};

// The callback has run while the poster is still inside the executor: the end waits for the poster.
TEST(Subscription, EndWaitsForAPostInProgress) {
  EventHub hub;
  asio::io_context context;
  test::Gate gate;
  std::atomic<bool> opened{false};
  bool heard = false;
  Subscription subscription = hub.subscribe(SlowToReturn{&context, &gate}, [&](const Event&) { heard = true; });
  std::thread poster([&] { hub.emit(numbered(1)); });
  gate.wait_for_arrival();
  context.run();
  EXPECT_TRUE(heard);
  std::thread opener([&] {
    opened = true;
    gate.open();
  });
  subscription.cancel();
  EXPECT_TRUE(opened);
  opener.join();
  poster.join();
}

// The other order: what is emitted after the end touches the executor no more, even if its context is gone.
TEST(Subscription, LeavesTheExecutorAlone) {
  EventHub hub;
  auto context = std::make_unique<asio::io_context>();
  Subscription subscription =
      hub.subscribe(asio::require(context->get_executor(), asio::execution::outstanding_work.tracked),
                    [](const Event&) { ADD_FAILURE(); });
  subscription.cancel();
  context.reset();
  hub.emit(numbered(1));
}

TEST(Subscription, MovesWithItsChannel) {
  EventHub hub;
  asio::io_context context;
  int heard = 0;
  Subscription first = hub.subscribe(context.get_executor(), [&](const Event&) { ++heard; });
  Subscription second = std::move(first);
  first.cancel();
  hub.emit(numbered(1));
  context.run();
  EXPECT_EQ(heard, 1);
}

TEST(Callback, ThatThrowsHarmsNobody) {
  set_log_level(LogLevel::off);
  EventHub hub;
  asio::io_context context;
  int heard = 0;
  const Subscription bad =
      hub.subscribe(context.get_executor(), [](const Event&) { throw std::runtime_error("mine"); });
  const Subscription worse = hub.subscribe(context.get_executor(), [](const Event&) { throw 42; });
  const Subscription good = hub.subscribe(context.get_executor(), [&](const Event&) { ++heard; });
  hub.emit(numbered(1));
  hub.emit(numbered(2));
  context.run();
  EXPECT_EQ(heard, 2);
  set_log_level(LogLevel::warning);
}

}  // namespace
}  // namespace hone::engine
