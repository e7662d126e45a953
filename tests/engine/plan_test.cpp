#include "engine/plan.hpp"

#include <gtest/gtest.h>

namespace hone::engine {
namespace {

Policy with(FindMode mode, Enforce enforce = Enforce::none) {
  Policy policy = Policy::serving();
  policy.find_mode = mode;
  policy.enforce = enforce;
  return policy;
}

struct Row {
  FindMode mode;
  Task user, elsewhere, nothing;
};

// The table of the README.
TEST(Plan, FollowsTheFindModeTable) {
  const Row rows[] = {
      {FindMode::fast, Task::none, Task::none, Task::none},
      {FindMode::normal, Task::tune, Task::tune, Task::tune},
      {FindMode::hybrid, Task::none, Task::none, Task::tune},
      {FindMode::dynamic_hybrid, Task::none, Task::none, Task::tune},
      {FindMode::trust_verify, Task::none, Task::verify, Task::tune},
      {FindMode::trust_verify_full, Task::none, Task::verify, Task::tune},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(symbols(FindMode{})[static_cast<std::size_t>(row.mode)]);
    EXPECT_EQ(plan(Provenance::user, with(row.mode)).task, row.user);
    for (const Provenance elsewhere : {Provenance::hint, Provenance::system, Provenance::model}) {
      EXPECT_EQ(plan(elsewhere, with(row.mode)).task, row.elsewhere);
    }
    EXPECT_EQ(plan(Provenance::fallback, with(row.mode)).task, row.nothing);
  }
}

TEST(Plan, BoxesAllButTheThoroughMode) {
  EXPECT_TRUE(plan(Provenance::fallback, with(FindMode::trust_verify)).boxed);
  EXPECT_FALSE(plan(Provenance::fallback, with(FindMode::trust_verify_full)).boxed);
  EXPECT_TRUE(plan(Provenance::fallback, with(FindMode::normal)).boxed);
}

TEST(Plan, CompilesNothingInDynamicHybrid) {
  EXPECT_FALSE(plan(Provenance::fallback, with(FindMode::dynamic_hybrid)).may_compile);
  EXPECT_TRUE(plan(Provenance::fallback, with(FindMode::hybrid)).may_compile);
}

TEST(Plan, ResumesASearchThatDidNotEnd) {
  EXPECT_TRUE(plan(Provenance::fallback, with(FindMode::trust_verify)).resume);
  EXPECT_TRUE(plan(Provenance::user, with(FindMode::normal), false).resume);
  EXPECT_FALSE(plan(Provenance::user, with(FindMode::normal), true).resume);
  EXPECT_FALSE(plan(Provenance::system, with(FindMode::trust_verify)).resume);
  EXPECT_FALSE(plan(Provenance::fallback, with(FindMode::trust_verify, Enforce::search_db_update)).resume);
}

TEST(Plan, VerifiesUserRecordsWhenToldTo) {
  Policy policy = with(FindMode::trust_verify);
  policy.revalidate_user_records = true;
  EXPECT_EQ(plan(Provenance::user, policy).task, Task::verify);
}

TEST(Plan, SearchesParametersAsTheThirdKnobSays) {
  Policy policy = with(FindMode::trust_verify);
  EXPECT_TRUE(plan(Provenance::fallback, policy).search_parameters);
  policy.tune_parameters = false;
  EXPECT_FALSE(plan(Provenance::fallback, policy).search_parameters);
}

TEST(Enforcement, IsIndependentOfTheMode) {
  for (const FindMode mode : {FindMode::fast, FindMode::hybrid, FindMode::trust_verify}) {
    for (const Provenance known :
         {Provenance::user, Provenance::hint, Provenance::system, Provenance::model, Provenance::fallback}) {
      EXPECT_EQ(plan(known, with(mode, Enforce::db_update)).task, Task::tune);
      EXPECT_FALSE(plan(known, with(mode, Enforce::db_update)).search_parameters);
      EXPECT_EQ(plan(known, with(mode, Enforce::search_db_update)).task, Task::tune);
      EXPECT_TRUE(plan(known, with(mode, Enforce::search_db_update)).search_parameters);
      EXPECT_EQ(plan(known, with(mode, Enforce::db_clean)), (Work{.forget_records = true}));
    }
    EXPECT_EQ(plan(Provenance::user, with(mode, Enforce::search)), plan(Provenance::user, with(mode)));
    EXPECT_EQ(plan(Provenance::system, with(mode, Enforce::search)).task, Task::tune);
    EXPECT_TRUE(plan(Provenance::fallback, with(mode, Enforce::search)).search_parameters);
  }
}

TEST(CallOptions, ReplaceOnlyWhatTheyName) {
  const Policy policy = Policy::serving();
  const Policy changed = apply(policy, {.find_mode = FindMode::fast, .tolerance = 0.5});
  EXPECT_EQ(changed.find_mode, FindMode::fast);
  EXPECT_EQ(changed.find_mode.origin(), Origin::call);
  EXPECT_EQ(changed.tolerance, 0.5);
  EXPECT_EQ(changed.patience, policy.patience);
  EXPECT_EQ(changed.patience.origin(), Origin::preset);
}

}  // namespace
}  // namespace hone::engine
