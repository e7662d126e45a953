#include "engine/index.hpp"

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <hone/gemm.hpp>

#include "engine/resolver.hpp"

namespace hone::engine {
namespace {

Problem gemm(std::int64_t m) { return Problem(gemm::Problem{.m = m, .n = 1, .k = 1}); }

std::unique_ptr<Slot> slot(std::int64_t m) {
  const Problem problem = gemm(m);
  return std::make_unique<Slot>(problem.key(), problem, std::make_shared<const Site>());
}

std::unique_ptr<Answer> answer(std::string solver) {
  auto made = std::make_unique<Answer>();
  made->candidate.solver = std::move(solver);
  return made;
}

TEST(Index, FindsWhatWasInsertedAndNothingElse) {
  Index index;
  for (std::int64_t m = 1; m <= 5000; ++m) index.insert(slot(m));
  EXPECT_EQ(index.size(), 5000u);
  for (std::int64_t m = 1; m <= 5000; ++m) {
    const Slot* found = index.find(gemm(m).key());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->problem.as<gemm::Problem>().m, m);
  }
  EXPECT_EQ(index.find(gemm(5001).key()), nullptr);
}

TEST(Index, KeepsTheFirstSlotOfAKey) {
  Index index;
  Slot* first = index.insert(slot(1));
  EXPECT_EQ(index.insert(slot(1)), first);
  EXPECT_EQ(index.size(), 1u);
}

// Keys that share their low bits meet in one run of cells.
TEST(Index, SeparatesKeysThatCollide) {
  Index index;
  const auto site = std::make_shared<const Site>();
  for (std::uint64_t high = 0; high < 300; ++high) {
    index.insert(std::make_unique<Slot>(ProblemKey{high, 7}, gemm(static_cast<std::int64_t>(high) + 1), site));
  }
  for (std::uint64_t high = 0; high < 300; ++high) {
    const ProblemKey key{high, 7};
    ASSERT_NE(index.find(key), nullptr);
    EXPECT_EQ(index.find(key)->key, key);
  }
  EXPECT_EQ(index.find({300, 7}), nullptr);
}

TEST(Index, VisitsSlotsInOrderOfInsertion) {
  Index index;
  for (std::int64_t m = 1; m <= 3; ++m) index.insert(slot(m));
  std::vector<std::int64_t> seen;
  index.for_each([&](Slot& each) { seen.push_back(each.problem.as<gemm::Problem>().m); });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Slot, KeepsReplacedAnswersReadable) {
  Index index;
  Slot* place = index.insert(slot(1));
  place->publish(answer("first"));
  const Answer* first = place->current.load();
  place->publish(answer("second"));
  EXPECT_EQ(first->candidate.solver, "first");
  EXPECT_EQ(place->current.load()->candidate.solver, "second");
  EXPECT_EQ(place->current.load()->slot, place);
}

// A reader sees either nothing or a complete slot with a complete answer, while the table grows and answers change.
TEST(Index, IsReadWhileItGrowsAndAnswersAreReplaced) {
  Index index;
  constexpr std::int64_t problems = 3000;
  std::vector<Problem> all;
  for (std::int64_t m = 1; m <= problems; ++m) all.push_back(gemm(m));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (std::int64_t m = 1; m <= problems; ++m) {
        auto made = slot(m);
        made->publish(answer("a" + std::to_string(m)));
        Slot* placed = index.insert(std::move(made));
        if (writer == 1) placed->publish(answer("b" + std::to_string(m)));
      }
    });
  }
  std::atomic<std::uint64_t> wrong{0};
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, reader] {
      std::mt19937_64 random(static_cast<std::uint64_t>(reader));
      do {
        const std::int64_t m = 1 + static_cast<std::int64_t>(random() % problems);
        const Slot* found = index.find(all[static_cast<std::size_t>(m - 1)].key());
        if (found == nullptr) continue;
        const Answer* current = found->current.load(std::memory_order_acquire);
        if (current == nullptr || current->candidate.solver.substr(1) != std::to_string(m)) ++wrong;
      } while (!done.load());
    });
  }
  threads[0].join();
  threads[1].join();
  done = true;
  threads[2].join();
  threads[3].join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(index.size(), static_cast<std::size_t>(problems));
}

TEST(Refusals, GiveOneAnswerForOneReasonAndStayBounded) {
  Refusals refusals;
  const Answer* first = refusals.refuse("m must be positive");
  EXPECT_EQ(refusals.refuse("m must be positive"), first);
  EXPECT_EQ(first->reason, "m must be positive");
  for (int i = 0; i < 2000; ++i) refusals.refuse(std::to_string(i));
  const Answer* beyond = refusals.refuse("one more");
  EXPECT_EQ(refusals.refuse("and another"), beyond);
  EXPECT_NE(beyond->reason.find("too many"), std::string::npos);
  EXPECT_EQ(refusals.refuse("m must be positive"), first);
}

}  // namespace
}  // namespace hone::engine
