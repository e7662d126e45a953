#include "storage/codec.hpp"

#include <gtest/gtest.h>

#include <random>

#include "storage/schema_generated.h"
#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;

TEST(Codec, EveryKindComesBackAsItWas) {
  const Record r = record(7);
  const RecordKey rk = record_key(r.key, r.environment);
  EXPECT_EQ(decode_record(rk, encode(rk, r)), r);

  for (const std::uint64_t run : {1, 2}) {  // with and without facts
    const Trial t = trial(7, run);
    const NumberedKey tk = numbered_key(t.key, t.environment, 5);
    EXPECT_EQ(decode_trial(tk, encode(tk, t)), t);
  }

  const Quarantined q = quarantined(7, 2);
  const NumberedKey qk = numbered_key(q.key, q.environment, candidate_hash(q.candidate));
  EXPECT_EQ(decode_quarantined(qk, encode(qk, q)), q);

  const Environment e = environment();
  const NumberKey ek = number_key(e.id());
  EXPECT_EQ(decode_environment(ek, encode(ek, e)), e);

  Binary b;
  b.key[3] = 9;
  b.code.assign(5000, 0xA5);
  const ByteView bk = std::as_bytes(std::span(b.key));
  EXPECT_EQ(decode_binary(bk, encode(bk, b)), b);

  EXPECT_EQ(decode_problem(bk, encode_problem(bk, "gemm m=1")), "gemm m=1");
  EXPECT_EQ(decode_text(bk, encode_text(bk, "1")), "1");

  const CommitNote note{42, {problem_key(1), problem_key(2)}};
  const std::optional<CommitNote> note_back = decode_note(ek, encode(ek, note));
  ASSERT_TRUE(note_back);
  EXPECT_EQ(note_back->store, 42u);
  EXPECT_EQ(note_back->keys, note.keys);
}

// The content of a trial, with facts as they are given.
std::string trial_content(const Trial& t, const std::vector<std::string>* names,
                          const std::vector<std::int64_t>* values) {
  flatbuffers::FlatBufferBuilder builder;
  const format::Timing timing(t.candidate.timing.median.count(), t.candidate.timing.low.count(),
                              t.candidate.timing.high.count(), t.candidate.timing.samples);
  const auto problem = builder.CreateString(t.problem);
  const auto solver = builder.CreateString(t.candidate.candidate.solver);
  const auto configuration = builder.CreateString(t.candidate.candidate.configuration);
  const auto candidate = format::CreateCandidate(builder, solver, t.candidate.candidate.version, configuration, &timing,
                                                 t.candidate.workspace);
  const auto reason = builder.CreateString(t.reason);
  const auto fact_names = names != nullptr ? builder.CreateVectorOfStrings(*names) : 0;
  const auto fact_values = values != nullptr ? builder.CreateVector(*values) : 0;
  format::TrialBuilder trial(builder);
  trial.add_date(t.date.time_since_epoch().count());
  if (names != nullptr) trial.add_fact_names(fact_names);
  if (values != nullptr) trial.add_fact_values(fact_values);
  trial.add_reason(reason);
  trial.add_candidate(candidate);
  trial.add_problem(problem);
  trial.add_cold_cache(t.cold_cache);
  trial.add_status(static_cast<std::uint8_t>(t.status));
  builder.Finish(trial.Finish());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST(Codec, ATrialWithoutFactsIsOfTheBytesItEverWas) {
  const Trial t = trial(7, 2);
  const NumberedKey key = numbered_key(t.key, t.environment, 5);
  ASSERT_TRUE(t.facts.empty());
  const Bytes old = encode_text(key, trial_content(t, nullptr, nullptr));
  EXPECT_EQ(decode_trial(key, old), t);
  EXPECT_EQ(encode(key, t).size(), old.size());
}

TEST(Codec, FactsThatDoNotBelongTogetherAreDamage) {
  const Trial t = trial(7, 2);
  const NumberedKey key = numbered_key(t.key, t.environment, 5);
  const std::vector<std::string> names{"a", "b"}, twice{"a", "a"};
  const std::vector<std::int64_t> values{1, 2}, one{1};
  const auto decoded = [&](const auto* some_names, const auto* some_values) {
    std::string why;
    const auto result = decode_trial(key, encode_text(key, trial_content(t, some_names, some_values)), &why);
    EXPECT_EQ(why, result ? "" : "a field has an impossible value");
    return result;
  };
  Trial with = t;
  with.facts = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(decoded(&names, &values), with);
  EXPECT_FALSE(decoded(&names, &one));
  EXPECT_FALSE(decoded(&twice, &values));
  EXPECT_FALSE(decoded(&names, static_cast<const std::vector<std::int64_t>*>(nullptr)));
  EXPECT_FALSE(decoded(static_cast<const std::vector<std::string>*>(nullptr), &values));
}

TEST(Codec, EveryFlippedBitOfATrialIsNoticed) {
  const Trial t = trial(7, 1);
  const NumberedKey key = numbered_key(t.key, t.environment, 5);
  const Bytes value = encode(key, t);
  for (std::size_t bit = 0; bit < 8 * value.size(); ++bit) {
    Bytes flipped = value;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(decode_trial(key, flipped)) << bit;
  }
  // And a right checksum over wrong content ends in a value or in nothing.
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string content(reinterpret_cast<const char*>(value.data()) + 8, value.size() - 8);
    for (int i = 0; i < 3; ++i) content[random() % content.size()] = static_cast<char>(random());
    accepted += decode_trial(key, encode_text(key, content)).has_value();
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 20000);
}

TEST(Codec, KeysSortByProblemThenEnvironment) {
  const ProblemKey small{1, ~0ull}, large{2, 0};
  EXPECT_LT(record_key(small, ~0ull), record_key(large, 0));
  EXPECT_LT(record_key(small, 1), record_key(small, 256));
  EXPECT_EQ(problem_key_of(record_key(small, 5)), small);
  EXPECT_EQ(environment_of(record_key(small, 5)), 5u);
}

TEST(Codec, AValueUnderAnotherKeyIsRefused) {
  const Record r = record(7);
  const Bytes value = encode(record_key(r.key, r.environment), r);
  std::string why;
  EXPECT_FALSE(decode_record(record_key(problem_key(8), r.environment), value, &why));
  EXPECT_EQ(why, "the checksum differs");
}

TEST(Codec, EveryFlippedBitIsNoticed) {
  const Record r = record(7);
  const RecordKey key = record_key(r.key, r.environment);
  const Bytes value = encode(key, r);
  for (std::size_t bit = 0; bit < 8 * value.size(); ++bit) {
    Bytes flipped = value;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(decode_record(key, flipped)) << bit;
  }
  for (std::size_t size = 0; size < value.size(); ++size) {
    EXPECT_FALSE(decode_record(key, ByteView(value).first(size))) << size;
  }
}

// Values with a right checksum over wrong content: a bug or an attack, not bit rot.
TEST(Codec, ARightChecksumDoesNotExcuseWrongContent) {
  std::mt19937 random(1);
  const Record r = record(7);
  const RecordKey key = record_key(r.key, r.environment);
  const Bytes value = encode(key, r);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string content(reinterpret_cast<const char*>(value.data()) + 8, value.size() - 8);
    for (int i = 0; i < 3; ++i) content[random() % content.size()] = static_cast<char>(random());
    accepted += decode_record(key, encode_text(key, content)).has_value();
  }
  EXPECT_GT(accepted, 0);  // changed numbers are still a record
  EXPECT_LT(accepted, 20000);
  std::string why;
  EXPECT_FALSE(decode_record(key, encode_text(key, "no FlatBuffer"), &why));
  EXPECT_EQ(why, "the value is not a FlatBuffer of this format");
}

}  // namespace
}  // namespace hone::storage
