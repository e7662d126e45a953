#include "workers/compile_threads.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "tests/support/gate.hpp"

namespace hone::workers {
namespace {

using test::Gate;

Preparation nothing() { return {.reason = "done"}; }

TEST(CompileThreads, RunOrdersInTurnOnThreadsOfTheirOwn) {
  CompileThreads threads(1);
  std::promise<std::thread::id> first, second;
  threads.submit([&] {
    first.set_value(std::this_thread::get_id());
    return nothing();
  });
  threads.submit([&] {
    second.set_value(std::this_thread::get_id());
    return nothing();
  });
  const std::thread::id ran = first.get_future().get();
  EXPECT_NE(ran, std::this_thread::get_id());
  EXPECT_EQ(second.get_future().get(), ran);
}

TEST(CompileThreads, YieldToTheProgramsOwnThreads) {
  CompileThreads threads(1);
  std::promise<int> nice;
  threads.submit([&] {
    nice.set_value(getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))));
    return nothing();
  });
  EXPECT_GE(nice.get_future().get(), 10);
}

TEST(CompileThreads, CollectWaitsForWhatHasBegun) {
  CompileThreads threads(1);
  Gate gate;
  const auto order = threads.submit([&] {
    gate.pass();
    return nothing();
  });
  gate.wait_for_arrival();
  std::thread opening([&] { gate.open(); });
  const auto preparation = threads.collect(*order);
  opening.join();
  ASSERT_TRUE(preparation);
  EXPECT_EQ(preparation->reason, "done");
}

TEST(CompileThreads, CollectTakesBackWhatHasNotBegun) {
  CompileThreads threads(1);
  Gate gate;
  std::atomic<bool> ran = false;
  const auto held = threads.submit([&] {
    gate.pass();
    return nothing();
  });
  const auto behind = threads.submit([&] {
    ran = true;
    return nothing();
  });
  gate.wait_for_arrival();
  EXPECT_FALSE(threads.collect(*behind));
  gate.open();
  EXPECT_TRUE(threads.collect(*held));
  threads.cancel();
  threads.join();
  EXPECT_FALSE(ran);
}

TEST(CompileThreads, NothingBeginsWhilePaused) {
  for (const bool paused_first : {true, false}) {
    CompileThreads threads(1);
    Gate gate;
    std::shared_ptr<CompileThreads::Order> held;
    if (!paused_first) {
      held = threads.submit([&] {
        gate.pass();
        return nothing();
      });
      gate.wait_for_arrival();
    }
    threads.pause();
    std::atomic<bool> ran = false;
    const auto order = threads.submit([&] {
      ran = true;
      return nothing();
    });
    gate.open();
    if (held) {
      EXPECT_TRUE(threads.collect(*held));  // what has begun ends
    }
    EXPECT_FALSE(ran);
    threads.resume();
    while (!ran) std::this_thread::yield();
    EXPECT_TRUE(threads.collect(*order));
  }
}

// One thread that is held at a gate, with another order behind it.
class HeldCompileThread : public ::testing::Test {
 protected:
  HeldCompileThread() { gate.wait_for_arrival(); }

  Gate gate;
  std::atomic<int> ran = 0;
  const std::function<decltype(nothing())()> run = [this] {
    gate.pass();
    ++ran;
    return nothing();
  };
  CompileThreads threads{1};
  const decltype(threads.submit(run)) held = threads.submit(run);
  const decltype(threads.submit(run)) behind = threads.submit(run);
};

TEST_F(HeldCompileThread, ClearDropsWhatWaitsAndWaitsForTheRest) {
  threads.pause();  // or `behind` might begin before it is dropped
  std::thread opening([&] { gate.open(); });
  threads.clear();
  EXPECT_EQ(ran, 1);
  opening.join();
  EXPECT_TRUE(threads.collect(*held));
  EXPECT_FALSE(threads.collect(*behind));
}

TEST_F(HeldCompileThread, AfterCancelNothingBegins) {
  threads.cancel();
  const auto late = threads.submit(run);
  gate.open();
  threads.join();
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(threads.collect(*held));
  EXPECT_FALSE(threads.collect(*behind));
  EXPECT_FALSE(threads.collect(*late));
}

TEST(CompileThreads, SubmitAndCancelMayMeetInAnyOrder) {
  for (int i = 0; i < 100; ++i) {
    std::atomic<int> ran = 0;
    CompileThreads threads(2);
    std::vector<std::shared_ptr<CompileThreads::Order>> orders;
    std::thread cancelling([&] { threads.cancel(); });
    for (int k = 0; k < 4; ++k) {
      orders.push_back(threads.submit([&] {
        ++ran;
        return nothing();
      }));
    }
    int collected = 0;
    for (const auto& order : orders) collected += threads.collect(*order).has_value();
    cancelling.join();
    threads.join();
    EXPECT_EQ(collected, ran);
  }
}

TEST(CompileThreads, NobodyWaitsForWhatIsLeftAlone) {
  const auto gate = std::make_shared<Gate>();
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = kept;
  {
    CompileThreads threads(1);
    const auto order = threads.submit([gate, kept = std::move(kept)] {
      gate->pass();
      return nothing();
    });
    gate->wait_for_arrival();
    std::thread leaving([&] { threads.leave(); });
    EXPECT_FALSE(threads.collect(*order));
    threads.clear();
    threads.join();
    leaving.join();
  }
  EXPECT_FALSE(alive.expired());
  gate->open();
  while (!alive.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace hone::workers
