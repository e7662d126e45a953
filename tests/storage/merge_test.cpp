// Merging databases: what comes out depends on what went in, and on nothing else.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "storage/nearest.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;
using Nanoseconds = std::chrono::duration<double, std::nano>;

// Records of one problem, near each other in everything that the rule looks at.
rc::Gen<Record> any_record(std::uint64_t problem) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::inRange(0, 6), rc::gen::inRange(0, 3), rc::gen::inRange(0, 4)),
      [problem](const std::tuple<int, int, int, int>& t) {
        const auto [time, width, date, kind] = t;
        Record result = record(problem);
        const double median = time == 0 ? 0 : 1000.0 + 15.0 * time;
        const double half = 10.0 * width;
        result.best.timing = {Nanoseconds(median), Nanoseconds(median - half), Nanoseconds(median + half), 9};
        result.date = std::chrono::sys_seconds(std::chrono::seconds(date));
        result.measured = kind != 0;
        result.evaluations = static_cast<std::uint64_t>(kind);
        return result;
      });
}

Record better(const Record& a, const Record& b) { return replaces(b, a) ? b : a; }

RC_GTEST_PROP(Merging, BetterRecordIsATotalOrder, ()) {
  const auto a = *any_record(1), b = *any_record(1), c = *any_record(1);
  RC_ASSERT(!replaces(a, a));
  RC_ASSERT(a == b || replaces(a, b) != replaces(b, a));
  RC_ASSERT(better(a, b) == better(b, a));
  RC_ASSERT(better(better(a, b), c) == better(a, better(b, c)));
  RC_ASSERT(better(a, a) == a);
}

RC_GTEST_PROP(Merging, ASurelyFasterMeasurementStays, ()) {
  Record fast = *any_record(1), slow = *any_record(1);
  fast.measured = slow.measured = true;
  if (!fast.best.timing.known()) fast.best.timing = record(1).best.timing;
  const Nanoseconds low = fast.best.timing.high * (1.02 + 0.01 * (1 + *rc::gen::inRange(0, 50)));
  const Nanoseconds half{static_cast<double>(*rc::gen::inRange(0, 100))};
  slow.best.timing = {low + half, low, low + 2 * half, 9};
  RC_ASSERT(better(fast, slow) == fast);
}

TEST(Merging, AMeasurementBeatsAPredictionAndANewerEqualOneAnOlder) {
  Record measured = record(1), predicted = record(1);
  predicted.measured = false;
  predicted.best.timing = {Nanoseconds(1), Nanoseconds(1), Nanoseconds(1), 9};
  EXPECT_TRUE(replaces(measured, predicted));
  EXPECT_FALSE(replaces(predicted, measured));
  Record newer = measured;
  newer.date += std::chrono::seconds(1);
  EXPECT_TRUE(replaces(newer, measured));
  EXPECT_FALSE(replaces(measured, newer));
}

// The order that the rule must not depend on: each interval overlaps with its neighbour's only.
TEST(Merging, AChainOfOverlapsHasOneWinner) {
  const auto of = [](double low, double high, int date) {
    Record result = record(1);
    result.best.timing = {Nanoseconds((low + high) / 2), Nanoseconds(low), Nanoseconds(high), 9};
    result.date = std::chrono::sys_seconds(std::chrono::seconds(date));
    return result;
  };
  const Record a = of(1000, 3000, 1), b = of(2000, 5000, 2), c = of(4000, 6000, 3);
  EXPECT_EQ(better(better(a, b), c), a);
  EXPECT_EQ(better(a, better(b, c)), a);
}

std::vector<Change> content(const std::string& path) {
  std::vector<Change> changes;
  visit(path, [&](Change change) { changes.push_back(std::move(change)); });
  return changes;
}

// Trials of a problem are numbered as they come; what counts is which there are.
struct Content {
  std::vector<Record> records;
  std::vector<Quarantined> quarantine;
  std::vector<Binary> binaries;
  std::vector<std::string> trials;
  friend bool operator==(const Content&, const Content&) = default;
};

Content content_of(const std::string& path) {
  Content all;
  for (const Change& change : content(path)) {
    if (const auto* r = std::get_if<MergeRecord>(&change)) all.records.push_back(r->record);
    if (const auto* q = std::get_if<PutQuarantine>(&change)) all.quarantine.push_back(q->quarantined);
    if (const auto* b = std::get_if<PutBinary>(&change)) all.binaries.push_back(b->binary);
    if (const auto* t = std::get_if<MergeTrial>(&change)) {
      all.trials.push_back(t->trial.problem + to_string(t->trial.candidate.candidate) +
                           std::to_string(t->trial.date.time_since_epoch().count()));
    }
  }
  std::sort(all.trials.begin(), all.trials.end());
  return all;
}

TEST(Merging, SeveralDatabasesGiveTheSameInAnyOrder) {
  ASSERT_TRUE(rc::check([] {
    const TemporaryDirectory directory;
    constexpr int databases = 4;
    for (int i = 0; i < databases; ++i) {
      std::vector<Change> changes{PutEnvironment{environment()}};
      for (std::uint64_t problem = 0; problem < 3; ++problem) {
        if (*rc::gen::inRange(0, 4) == 0) continue;
        changes.push_back(PutRecord{*any_record(problem)});
        changes.push_back(PutTrial{trial(problem, static_cast<std::uint64_t>(*rc::gen::inRange(0, 3)))});
        Quarantined bad = quarantined(problem, 1);
        bad.date = std::chrono::sys_seconds(std::chrono::seconds(*rc::gen::inRange(0, 3)));
        bad.cause = *rc::gen::element<std::string>("crashed", "hung");
        changes.push_back(PutQuarantine{bad});
        Binary binary;
        binary.key = {static_cast<std::uint8_t>(problem)};
        binary.code = {static_cast<std::uint8_t>(*rc::gen::inRange(0, 3))};
        binary.date = bad.date;
        changes.push_back(PutBinary{binary});
      }
      LmdbStore store(Database::open(directory.path(std::to_string(i))));
      RC_ASSERT(!store.commit(changes));
    }
    std::vector<int> order(databases);
    std::iota(order.begin(), order.end(), 0);
    std::optional<Content> expected;
    for (int round = 0; round < 3; ++round) {
      const std::string target = directory.path("merged" + std::to_string(round));
      for (const int i : order) merge(target, directory.path(std::to_string(i)));
      merge(target, directory.path(std::to_string(order[0])));  // again: no change
      Content merged = content_of(target);
      if (expected) RC_ASSERT(merged == *expected);
      expected = std::move(merged);
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(*rc::gen::inRange(0, 1000))));
    }
  }));
}

}  // namespace
}  // namespace hone::storage
