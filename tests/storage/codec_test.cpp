#include "storage/codec.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/storage/sample.hpp"

namespace hone::storage {
namespace {

using namespace test;

TEST(Codec, EveryKindComesBackAsItWas) {
  const Record r = record(7);
  const RecordKey rk = record_key(r.key, r.environment);
  EXPECT_EQ(decode_record(rk, encode(rk, r)), r);

  const Trial t = trial(7, 2);
  const NumberedKey tk = numbered_key(t.key, t.environment, 5);
  EXPECT_EQ(decode_trial(tk, encode(tk, t)), t);

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
