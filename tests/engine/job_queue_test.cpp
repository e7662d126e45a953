#include "engine/job_queue.hpp"

#include <map>

#include <gtest/gtest.h>

#include <hone/gemm.hpp>

#include "engine/index.hpp"
#include "engine/resolver.hpp"

namespace hone::engine {
namespace {

class JobQueueTest : public ::testing::Test {
 protected:
  Slot& slot(double worth) {
    const Problem problem(gemm::Problem{.m = static_cast<std::int64_t>(slots_.size()) + 1, .n = 1, .k = 1});
    slots_.push_back(std::make_unique<Slot>(problem.key(), problem, std::make_shared<const Site>()));
    worth_[slots_.back().get()] = worth;
    return *slots_.back();
  }
  JobQueue::Priority priority = [this](const Slot& each) { return worth_.at(&each); };
  const std::function<bool(const Slot&)> any = [](const Slot&) { return true; };
  std::vector<std::unique_ptr<Slot>> slots_;
  std::map<const Slot*, double> worth_;
};

TEST_F(JobQueueTest, GivesTheMostValuableFirstAndOldestAmongEquals) {
  JobQueue queue(10);
  Slot& cold = slot(1);
  Slot& first = slot(5);
  Slot& second = slot(5);
  for (Slot* each : {&cold, &first, &second}) EXPECT_EQ(queue.push(*each, priority), nullptr);
  EXPECT_EQ(queue.pop(priority, any), &first);
  EXPECT_EQ(queue.pop(priority, any), &second);
  EXPECT_EQ(queue.pop(priority, any), &cold);
  EXPECT_EQ(queue.pop(priority, any), nullptr);
}

TEST_F(JobQueueTest, DropsTheColdestWhenFull) {
  JobQueue queue(2);
  Slot& warm = slot(3);
  Slot& cold = slot(1);
  Slot& hot = slot(9);
  queue.push(warm, priority);
  queue.push(cold, priority);
  EXPECT_EQ(queue.push(hot, priority), &cold);
  Slot& colder = slot(0.5);
  EXPECT_EQ(queue.push(colder, priority), &colder);
  EXPECT_EQ(queue.size(), 2u);
}

// Demand grows while a problem waits.
TEST_F(JobQueueTest, JudgesAtTheMomentOfChoice) {
  JobQueue queue(10);
  Slot& early = slot(1);
  Slot& late = slot(2);
  queue.push(early, priority);
  queue.push(late, priority);
  worth_[&early] = 10;
  EXPECT_EQ(queue.pop(priority, any), &early);
}

TEST_F(JobQueueTest, PassesOverWhatIsNotEligible) {
  JobQueue queue(10);
  Slot& best = slot(9);
  Slot& other = slot(1);
  queue.push(best, priority);
  queue.push(other, priority);
  EXPECT_EQ(queue.pop(priority, [&](const Slot& each) { return &each != &best; }), &other);
  EXPECT_EQ(queue.size(), 1u);
}

TEST_F(JobQueueTest, TellsTheTurnOfWhatWaits) {
  JobQueue queue(10);
  Slot& cold = slot(1);
  Slot& first = slot(5);
  Slot& second = slot(5);
  for (Slot* each : {&cold, &first, &second}) queue.push(*each, priority);
  EXPECT_EQ(queue.place_of(first, priority), 1u);
  EXPECT_EQ(queue.place_of(second, priority), 2u);
  EXPECT_EQ(queue.place_of(cold, priority), 3u);
  EXPECT_EQ(queue.place_of(slot(9), priority), 0u);
}

}  // namespace
}  // namespace hone::engine
