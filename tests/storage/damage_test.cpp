// Bit flips and truncations over a real file: no crash, no wrong record, everything that is missing is reported.
//
// DAMAGE_SEEDS sets the number of damaged files (500).
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "storage/lmdb_store.hpp"
#include "storage/maintenance.hpp"
#include "storage/read_only_store.hpp"
#include "storage/store_error.hpp"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;

constexpr std::uint64_t problems = 150;

std::uint64_t seeds() {
  const char* text = std::getenv("DAMAGE_SEEDS");
  return text == nullptr ? 500 : std::strtoull(text, nullptr, 10);
}

std::string whole_database() {
  const TemporaryDirectory directory;
  {
    LmdbStore store(Database::open(directory.path()));
    Binary binary;
    binary.code.assign(20000, 0x5A);
    EXPECT_FALSE(store.commit(std::vector<Change>{PutEnvironment{environment()}, PutEnvironment{environment("0.2")},
                                                  PutBinary{binary}, PutQuarantine{quarantined(1, 1)}}));
    for (std::uint64_t i = 0; i < problems; ++i) {
      std::vector<Change> changes{PutRecord{record(i)}, PutTrial{trial(i, 0)}};
      if (i % 10 == 0) changes.push_back(PutRecord{record(i, environment("0.2"))});
      if (i % 3 == 0) changes.push_back(Forget{problem_key(i / 2 + problems), environment().id()});
      EXPECT_FALSE(store.commit(changes));
    }
  }
  std::ifstream file(directory.path() + "/data.mdb", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a damaged file gives: nothing but what was stored. Returns how many of the records it still gives.
std::uint64_t expect_only_good(Store& store) {
  std::uint64_t good = 0;
  for (std::uint64_t i = 0; i < problems; ++i) {
    const auto found = store.find(problem_key(i), problem_text(i), environment());
    if (!found) continue;
    const bool here = found->record == record(i), there = found->record == record(i, environment("0.2"));
    EXPECT_TRUE(here || there) << "a wrong record for problem " << i;
    good += here;
    for (const Trial& t : store.trials(problem_key(i), environment().id())) EXPECT_EQ(t, trial(i, 0));
  }
  return good;
}

TEST(Damage, FlippedBitsAndCutFilesNeverCrashNorGiveWrongRecords) {
  const std::string whole = whole_database();
  const TemporaryDirectory directory;
  const std::string path = directory.path(), data = path + "/data.mdb";
  std::uint64_t refused = 0, degraded = 0, unharmed = 0;
  const std::uint64_t count = seeds();
  for (std::uint64_t seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string bytes = whole;
    if (seed % 5 == 4) {
      bytes.resize(random() % bytes.size());
    } else {
      // Half of the seeds aim at headers and nodes, where structure lies.
      for (std::uint64_t flips = 1 + random() % 8; flips > 0; --flips) {
        std::uint64_t offset = random() % bytes.size();
        if (seed % 2 == 0) offset = offset / 4096 * 4096 + random() % 64;
        bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << random() % 8));
      }
    }
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    std::ofstream(data, std::ios::binary) << bytes;

    bool reported = false;
    std::uint64_t good = 0;
    try {
      reported = !check(path).damage.empty();
    } catch (const StoreError&) {
      reported = true;
    }
    try {
      ReadOnlyStore store(path);
      good = expect_only_good(store);
    } catch (const StoreError&) {
      ++refused;
    }
    EXPECT_TRUE(reported || good == problems) << "records are missing, and the check says nothing";
    unharmed += good == problems && !reported;
    degraded += good < problems;
    try {
      LmdbStore store(Database::open(path));
      expect_only_good(store);
      // Written when the structure is sound, refused when it is not.
      const std::error_code error = store.commit(std::vector<Change>{PutRecord{record(problems)}});
      if (!error) {
        EXPECT_TRUE(store.find(problem_key(problems), problem_text(problems), environment()));
      }
    } catch (const StoreError& error) {
      EXPECT_NE(error.remedy(), "");
    }
  }
  std::printf("%llu files: %llu refused, %llu gave fewer records, %llu unharmed\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(degraded), static_cast<unsigned long long>(unharmed));
  EXPECT_GT(degraded, 0u);
  EXPECT_LT(degraded, count);
}

}  // namespace
}  // namespace hone::storage
