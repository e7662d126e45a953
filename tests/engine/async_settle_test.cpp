// Engine::async_settle with every kind of completion token, and its cancellation.
#include <gtest/gtest.h>
#include <thread>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include "tests/support/engine_fixture.hpp"

namespace hone {
namespace {

using namespace test;

class AsyncSettleTest : public EngineFixture {
 protected:
  std::unique_ptr<Engine> engine_ = start(two_solvers(), options());
  asio::io_context context_;
};

TEST_F(AsyncSettleTest, CallsBackOnTheHandlersExecutorAndNotInside) {
  int calls = 0;
  const auto caller = std::this_thread::get_id();
  engine_->async_settle(Doubling{}, asio::bind_executor(context_, [&](std::error_code error, Solution solution) {
                          ++calls;
                          EXPECT_FALSE(error);
                          EXPECT_EQ(solver(solution), "other");
                          EXPECT_TRUE(std::this_thread::get_id() == caller);
                        }));
  EXPECT_EQ(calls, 0);
  context_.run();  // the pending operation keeps the context at work
  EXPECT_EQ(calls, 1);
}

TEST_F(AsyncSettleTest, CompletesForWhatIsSettledAlready) {
  const Solution first = engine_->async_settle(Doubling{}, asio::use_future).get();
  EXPECT_EQ(engine_->async_settle(Doubling{}, asio::use_future).get(), first);
}

TEST_F(AsyncSettleTest, IsAwaitable) {
  Solution solution;
  asio::co_spawn(
      context_,
      [&]() -> asio::awaitable<void> { solution = co_await engine_->async_settle(Doubling{}, asio::use_awaitable); },
      asio::detached);
  context_.run();
  EXPECT_EQ(solver(solution), "other");
}

TEST_F(AsyncSettleTest, IsDeferrable) {
  auto later = engine_->async_settle(Doubling{}, asio::experimental::deferred);
  EXPECT_EQ(engine_->statistics().problems, 0u) << "nothing begins before the deferred operation is started";
  int calls = 0;
  std::move(later)(asio::bind_executor(context_, [&](std::error_code error, Solution) { calls += error ? 0 : 1; }));
  context_.run();
  EXPECT_EQ(calls, 1);
}

TEST_F(AsyncSettleTest, TakesMoveOnlyHandlers) {
  auto owned = std::make_unique<int>(41);
  int result = 0;
  engine_->async_settle(
      Doubling{},
      asio::bind_executor(context_, [&, owned = std::move(owned)](std::error_code, Solution) { result = *owned + 1; }));
  context_.run();
  EXPECT_EQ(result, 42);
}

TEST_F(AsyncSettleTest, ManyMayWaitForTheSame) {
  std::vector<std::future<Solution>> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(engine_->async_settle(Doubling{}, asio::use_future));
  for (auto& each : waiting) EXPECT_EQ(solver(each.get()), "other");
}

TEST_F(AsyncSettleTest, IsCancelledWithoutDisturbingTheJob) {
  engine_->pause();
  asio::cancellation_signal signal;
  std::vector<std::error_code> results;
  engine_->async_settle(Doubling{},
                        asio::bind_cancellation_slot(
                            signal.slot(), asio::bind_executor(context_, [&](std::error_code error, Solution solution) {
                              results.push_back(error);
                              EXPECT_EQ(solver(solution), "fallback");
                            })));
  signal.emit(asio::cancellation_type::terminal);
  context_.run();
  EXPECT_EQ(results, std::vector<std::error_code>{asio::error::operation_aborted});
  engine_->resume();
  EXPECT_EQ(solver(settled(*engine_, Doubling{})), "other");
}

// The other order: the completion is on its way when the cancellation comes.
TEST_F(AsyncSettleTest, CompletesOnceWhenCancelledTooLate) {
  settled(*engine_, Doubling{});
  asio::cancellation_signal signal;
  int calls = 0;
  engine_->async_settle(Doubling{},
                        asio::bind_cancellation_slot(
                            signal.slot(), asio::bind_executor(context_, [&](std::error_code, Solution) { ++calls; })));
  while (context_.run_one() == 0) {
  }
  signal.emit(asio::cancellation_type::terminal);
  context_.restart();
  context_.run();
  EXPECT_EQ(calls, 1);
}

TEST_F(AsyncSettleTest, CancellationAfterTheEnginesEndDoesNothing) {
  asio::cancellation_signal signal;
  int calls = 0;
  engine_->pause();
  engine_->async_settle(
      Doubling{},
      asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(context_, [&](std::error_code error, Solution) {
                                     EXPECT_EQ(error, Errc::shut_down);
                                     ++calls;
                                   })));
  engine_.reset();
  signal.emit(asio::cancellation_type::terminal);
  context_.run();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace hone
