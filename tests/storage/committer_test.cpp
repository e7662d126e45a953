#include "storage/committer.hpp"

#include <gtest/gtest.h>

#include <future>
#include <hone/error.hpp>
#include <thread>

#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;
using std::chrono::hours;

// A commit function that can be held up, and that remembers the sizes of the commits.
class CommitterTest : public testing::Test {
 protected:
  std::error_code commit(std::span<const Change> changes) {
    std::unique_lock lock(mutex);
    sizes.push_back(changes.size());
    entered.notify_all();
    opened.wait(lock, [this] { return open; });
    return result;
  }
  void wait_until_entered(std::size_t times) {
    std::unique_lock lock(mutex);
    entered.wait(lock, [&] { return sizes.size() >= times; });
  }
  void let_go() {
    std::lock_guard lock(mutex);
    open = true;
    opened.notify_all();
  }

  std::mutex mutex;
  std::condition_variable entered, opened;
  bool open = false;
  std::error_code result;
  std::vector<std::size_t> sizes;
};

TEST_F(CommitterTest, WhatArrivesDuringACommitGoesIntoTheNextOneTogether) {
  std::vector<int> order;
  Committer committer([this](auto changes) { return commit(changes); });
  const auto done = [&order](int number) { return [&order, number](std::error_code) { order.push_back(number); }; };
  committer.submit({PutRecord{record(0)}}, done(0));
  wait_until_entered(1);
  for (int i = 1; i <= 5; ++i) committer.submit({PutRecord{record(1)}, PutTrial{trial(1, 1)}}, done(i));
  EXPECT_FALSE(committer.flush(std::chrono::milliseconds(1))) << "the commit is held up";
  let_go();
  EXPECT_TRUE(committer.flush(hours(1)));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 10}));
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5}));
}

TEST_F(CommitterTest, AFailureReachesEveryoneInTheCommit) {
  open = true;
  result = make_error_code(Errc::store_unavailable);
  Committer committer([this](auto changes) { return commit(changes); });
  int failures = 0;
  for (int i = 0; i < 3; ++i) {
    committer.submit({PutRecord{record(1)}}, [&](std::error_code error) { failures += error == result; });
  }
  committer.flush(hours(1));
  EXPECT_EQ(failures, 3);
}

TEST_F(CommitterTest, ShutdownCommitsWhatIsPending) {
  open = true;
  int done = 0;
  {
    Committer committer([this](auto changes) { return commit(changes); });
    for (int i = 0; i < 100; ++i) {
      committer.submit({PutRecord{record(1)}}, [&](std::error_code error) { done += !error; });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST_F(CommitterTest, AfterTheShutdownTimeoutTheRestIsTold) {
  std::error_code first, second;
  std::thread release;
  {
    Committer committer([this](auto changes) { return commit(changes); }, {}, hours(1), std::chrono::nanoseconds(0));
    committer.submit({PutRecord{record(1)}}, [&](std::error_code error) { first = error; });
    wait_until_entered(1);
    second = make_error_code(Errc::timed_out);
    committer.submit({PutRecord{record(2)}}, [&](std::error_code error) { second = error; });
    release = std::thread([this] { let_go(); });
    // Whether the second one still gets its turn depends on who is first: it is told in both cases.
  }
  release.join();
  EXPECT_FALSE(first) << "a commit that has begun is waited for";
  EXPECT_TRUE(!second || second == make_error_code(Errc::shut_down)) << second.message();
}

TEST_F(CommitterTest, TasksRunInTheirTurnAndFlushOnItsOwnThreadReturns) {
  open = true;
  std::vector<std::string> order;
  Committer committer([this](auto changes) { return commit(changes); });
  committer.submit({PutRecord{record(1)}}, [&](std::error_code) { order.emplace_back("commit"); });
  committer.post([&] {
    order.emplace_back("task");
    EXPECT_TRUE(committer.flush(hours(1)));
  });
  committer.submit({PutRecord{record(2)}}, [&](std::error_code) { order.emplace_back("commit"); });
  EXPECT_TRUE(committer.flush(hours(1)));
  EXPECT_EQ(order, (std::vector<std::string>{"commit", "task", "commit"}));
}

TEST_F(CommitterTest, TicksWhileIdle) {
  open = true;
  std::promise<void> ticked;
  std::once_flag once;
  Committer committer([this](auto changes) { return commit(changes); },
                      [&] { std::call_once(once, [&] { ticked.set_value(); }); }, std::chrono::milliseconds(1));
  ticked.get_future().wait();
}

}  // namespace
}  // namespace hone::storage
