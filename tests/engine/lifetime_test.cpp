// Pausing, draining, and the engine's end in all circumstances.
#include <array>
#include <thread>

#include <gtest/gtest.h>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "tests/support/engine_fixture.hpp"

namespace hone {
namespace {

using namespace test;

class LifetimeTest : public EngineFixture {
 protected:
  static std::shared_ptr<const ScriptedOperation> hanging(std::shared_ptr<Gate> gate) {
    return scripted_operation({scripted_solver("fallback", {.time = 200us}),
                               scripted_solver("hanging", {.fault = Fault::hangs_in_run, .gate = std::move(gate)})});
  }
  static std::shared_ptr<const ScriptedOperation> healthy() {
    return scripted_operation(
        {scripted_solver("fallback", {.time = 200us}), scripted_solver("other", {.time = 100us})});
  }
};

TEST_F(LifetimeTest, StartsNoTrialWhilePaused) {
  const auto operation = healthy();
  auto engine = start(operation, options());
  engine->pause();
  engine->find(Doubling{});
  EXPECT_FALSE(engine->drain(50ms)) << "the job waits";
  EXPECT_EQ(operation->references(), 0);
  engine->resume();
  EXPECT_TRUE(engine->drain(60s));
  EXPECT_EQ(solver(engine->find(Doubling{})), "other");
}

TEST_F(LifetimeTest, DrainsAtOnceWhenThereIsNothingToDo) {
  auto engine = start(healthy(), options());
  EXPECT_TRUE(engine->drain(0ns));
  settled(*engine, Doubling{});
  EXPECT_TRUE(engine->drain(60s));
}

TEST_F(LifetimeTest, EndsWithAJobInFlightAndTellsWhoWaits) {
  const auto gate = std::make_shared<Gate>();
  EngineOptions quick = options();
  quick.shutdown_timeout = 50ms;
  auto engine = start(hanging(gate), quick);
  auto waiting = engine->async_settle(Doubling{}, asio::use_future);
  gate->wait_for_arrival();
  engine.reset();  // abandons the worker: its solver hangs
  try {
    waiting.get();
    ADD_FAILURE() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), Errc::shut_down);
  }
  gate->open();
}

// The other order: the candidate comes back while the destructor waits.
TEST_F(LifetimeTest, WaitsForATrialThatComesBack) {
  const auto gate = std::make_shared<Gate>();
  EngineOptions patient = options();
  patient.shutdown_timeout = 60s;
  auto engine = start(hanging(gate), patient);
  engine->find(Doubling{});
  gate->wait_for_arrival();
  std::thread opener([&] { gate->open(); });
  engine.reset();
  opener.join();
}

TEST_F(LifetimeTest, EndsWithJobsWaiting) {
  auto engine = start(healthy(), options());
  engine->pause();
  std::vector<std::future<Solution>> waiting;
  for (std::int64_t elements = 1; elements <= 50; ++elements) {
    waiting.push_back(engine->async_settle(Doubling{.elements = elements}, asio::use_future));
  }
  engine.reset();
  for (auto& each : waiting) EXPECT_THROW(each.get(), std::system_error);
}

TEST_F(LifetimeTest, MayEndOnAThreadOfACallbacksExecutor) {
  asio::io_context context;
  auto engine = start(healthy(), options());
  Subscription subscription;
  subscription = engine->subscribe(context.get_executor(), [&](const Event& event) {
    if (event.kind == EventKind::upgraded) engine.reset();
  });
  const auto work = asio::make_work_guard(context);
  engine->find(Doubling{});
  while (engine) context.run_one();
}

TEST_F(LifetimeTest, ABindingOutlivesItsEngine) {
  auto engine = start(healthy(), options());
  const Binding binding = engine->bind(Doubling{});
  settled(*engine, Doubling{});
  engine.reset();
  EXPECT_EQ(binding->candidate().solver, "other");
  ScriptedDevice device(clock_);
  const auto stream = device.make_stream(StreamPriority::normal);
  EXPECT_FALSE(Binding().get());
  EXPECT_EQ(Binding()->run(*stream, {}), Errc::no_solution);
}

TEST_F(LifetimeTest, ASubscriptionOutlivesItsEngine) {
  asio::io_context context;
  auto engine = start(healthy(), options());
  int heard = 0;
  Subscription subscription = engine->subscribe(context.get_executor(), [&](const Event&) { ++heard; });
  settled(*engine, Doubling{});
  engine.reset();
  context.run();
  EXPECT_GT(heard, 0) << "what was emitted is still delivered";
}

TEST_F(LifetimeTest, FindsAreServedWhileOperationsAndPoliciesChange) {
  auto engine = start(healthy(), options());
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] {
      for (std::int64_t n = 1; n <= 60; ++n) {
        const Solution solution = engine->find(Doubling{.elements = n + i});
        EXPECT_TRUE(solution) << solution.reason();
        engine->report(solution, 100us);
      }
    });
  }
  std::thread changer([&] {
    while (!done) {
      engine->pause();
      engine->set_policy(eager());
      engine->statistics();
      engine->resume();
    }
  });
  for (std::thread& caller : callers) caller.join();
  done = true;
  changer.join();
  EXPECT_TRUE(engine->drain(60s));
}

// Four workers, one a device; eight callers; policies that ask, verify again and freeze, while offers are answered.
TEST_F(LifetimeTest, EightCallersAndFourWorkersLiveWithChangesOfPolicy) {
  auto engine = start(healthy(), options());
  for (const char* name : {"second", "third", "fourth"}) {
    engine->add(std::make_shared<ScriptedDevice>(clock_, Conditions{}, name));
  }
  asio::thread_pool callbacks(1);
  const Subscription subscription = engine->subscribe(callbacks.get_executor(), [](const Event& event) {
    event.problem.size() % 2 == 0 ? event.offer.adopt() : event.offer.decline();
  });
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      constexpr std::array<const char*, 4> devices = {"", "second", "third", "fourth"};
      for (std::int64_t n = 1; n <= 40; ++n) {
        CallOptions call;
        call.device = devices[static_cast<std::size_t>(i + n) % devices.size()];
        const Solution solution = engine->find(Doubling{.elements = n}, call);
        EXPECT_TRUE(solution) << solution.reason();
        for (int k = 0; k < 70; ++k) engine->report(solution, std::chrono::microseconds(100 + n));
        EXPECT_TRUE(engine->explain(Doubling{.elements = n}, call).reason.empty());
      }
    });
  }
  std::thread changer([&] {
    Policy asking = eager();
    asking.adopt = Adopt::ask;
    while (!done) {
      for (const Policy& policy : {asking, Policy::frozen(), Policy::benchmark(), eager()}) engine->set_policy(policy);
    }
  });
  for (std::thread& caller : callers) caller.join();
  done = true;
  changer.join();
  EXPECT_TRUE(engine->drain(60s));
}

}  // namespace
}  // namespace hone
