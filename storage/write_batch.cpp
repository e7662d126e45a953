#include "storage/write_batch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>

#include "storage/codec.hpp"
#include "storage/nearest.hpp"
#include "storage/page.hpp"

namespace hone::storage {
namespace {

constexpr std::uint64_t most_notes = 1024;
constexpr std::size_t most_keys_of_a_note = 4096;
constexpr int picked_binaries = 8;

struct CloseCursor {
  void operator()(MDB_cursor* cursor) const noexcept { mdb_cursor_close(cursor); }
};
using Cursor = std::unique_ptr<MDB_cursor, CloseCursor>;

int open_cursor(MDB_txn* transaction, MDB_dbi tree, Cursor& cursor) {
  MDB_cursor* opened = nullptr;
  const int code = mdb_cursor_open(transaction, tree, &opened);
  cursor.reset(opened);
  return code;
}

bool has_prefix(const MDB_val& key, ByteView prefix) noexcept {
  return key.mv_size >= prefix.size() && compare_keys(to_bytes(key).first(prefix.size()), prefix) == 0;
}

}  // namespace

int WriteBatch::apply(std::span<const Change> changes) {
  for (const Change& change : changes) {
    if (const int code = std::visit([this](const auto& c) { return apply(c); }, change)) return code;
  }
  if (const int code = bound_trials()) return code;
  return bound_binaries();
}

template <class Value, class Decode>
int WriteBatch::kept(Table table, ByteView key, Decode decode, std::optional<Value>& value) {
  MDB_val k = to_value(key), v{};
  const int code = mdb_get(transaction_, database_.table(table), &k, &v);
  if (code == 0) value = decode(key, to_bytes(v), nullptr);
  return code == MDB_NOTFOUND ? 0 : code;
}

int WriteBatch::put(Table table, ByteView key, ByteView value, unsigned flags) {
  MDB_val k = to_value(key), v = to_value(value);
  const int code = mdb_put(transaction_, database_.table(table), &k, &v, flags);
  return code == MDB_KEYEXIST ? 0 : code;
}

int WriteBatch::put_problem(const ProblemKey& key, const std::string& text) {
  const RecordKey bytes = record_key(key, 0);
  const ByteView name = ByteView(bytes).first(problem_key_size);
  return put(Table::problems, name, encode_problem(name, text), MDB_NOOVERWRITE);
}

int WriteBatch::apply(const PutEnvironment& change) {
  const NumberKey key = number_key(change.environment.id());
  MDB_val k = to_value(key), v{};
  const int code = mdb_get(transaction_, database_.table(Table::environments), &k, &v);
  // Written once; a damaged one is mended.
  if (code == 0 && decode_environment(key, to_bytes(v))) return 0;
  if (code != 0 && code != MDB_NOTFOUND) return code;
  return put(Table::environments, key, encode(key, change.environment));
}

int WriteBatch::apply(const PutRecord& change) {
  const RecordKey key = record_key(change.record.key, change.record.environment);
  if (!change.record.measured) {
    // A measurement is never overwritten with hearsay.
    std::optional<Record> there;
    if (const int code = kept(Table::records, key, decode_record, there)) return code;
    if (there && there->measured && there->problem == change.record.problem) return 0;
  }
  if (const int code = put_problem(change.record.key, change.record.problem)) return code;
  changed_.push_back(change.record.key);
  return put(Table::records, key, encode(key, change.record));
}

int WriteBatch::apply(const MergeRecord& change) {
  const RecordKey key = record_key(change.record.key, change.record.environment);
  std::optional<Record> there;
  if (const int code = kept(Table::records, key, decode_record, there)) return code;
  if (there && there->problem == change.record.problem && !replaces(change.record, *there)) return 0;
  return apply(PutRecord{change.record});
}

int WriteBatch::apply(const MergeTrial& change) {
  const RecordKey prefix = record_key(change.trial.key, change.trial.environment);
  Cursor cursor;
  if (const int code = open_cursor(transaction_, database_.table(Table::trials), cursor)) return code;
  MDB_val key = to_value(prefix), value{};
  int code = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
  for (; code == 0 && has_prefix(key, prefix); code = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) {
    if (decode_trial(to_bytes(key), to_bytes(value)) == change.trial) return 0;
  }
  return code == 0 || code == MDB_NOTFOUND ? apply(PutTrial{change.trial}) : code;
}

int WriteBatch::numbers(Table table, ByteView prefix, std::uint64_t& first, std::uint64_t& next) {
  Cursor cursor;
  if (const int code = open_cursor(transaction_, database_.table(table), cursor)) return code;
  first = next = 0;
  MDB_val key = to_value(prefix), value{};
  int code = mdb_cursor_get(cursor.get(), &key, &value, prefix.empty() ? MDB_FIRST : MDB_SET_RANGE);
  if (code == MDB_NOTFOUND) return 0;
  if (code != 0) return code;
  if (!has_prefix(key, prefix)) return 0;
  first = number_at(to_bytes(key), prefix.size());
  // The last one: before the first key beyond the prefix.
  Bytes beyond(prefix.begin(), prefix.end());
  beyond.insert(beyond.end(), 9, std::byte{0xFF});
  key = to_value(beyond);
  code = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
  code = mdb_cursor_get(cursor.get(), &key, &value, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
  if (code != 0) return code;
  next = number_at(to_bytes(key), prefix.size()) + 1;
  return 0;
}

int WriteBatch::apply(const PutTrial& change) {
  const Trial& trial = change.trial;
  const RecordKey prefix = record_key(trial.key, trial.environment);
  if (const int code = put_problem(trial.key, trial.problem)) return code;
  std::uint64_t first = 0, next = 0;
  if (const int code = numbers(Table::trials, prefix, first, next)) return code;
  const NumberedKey key = numbered_key(trial.key, trial.environment, next);
  if (const int code = put(Table::trials, key, encode(key, trial))) return code;
  for (; next + 1 - first > retention_.trials_per_problem; ++first) {
    const NumberedKey oldest = numbered_key(trial.key, trial.environment, first);
    MDB_val k = to_value(oldest);
    const int code = mdb_del(transaction_, database_.table(Table::trials), &k, nullptr);
    if (code != 0 && code != MDB_NOTFOUND) return code;
  }
  return 0;
}

int WriteBatch::bound_trials() {
  MDB_stat statistics{};
  if (const int code = mdb_stat(transaction_, database_.table(Table::trials), &statistics)) return code;
  if (statistics.ms_entries <= retention_.trials) return 0;
  Cursor cursor;
  if (const int code = open_cursor(transaction_, database_.table(Table::trials), cursor)) return code;
  std::mt19937_64 random(std::random_device{}());
  for (std::uint64_t excess = statistics.ms_entries - retention_.trials; excess > 0; --excess) {
    // Problem keys are hashes: a random key picks a random problem, and its oldest trial.
    const RecordKey anywhere = record_key({random(), random()}, 0);
    MDB_val key = to_value(anywhere), value{};
    int code = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
    if (code == MDB_NOTFOUND) code = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST);
    if (code != 0) return code;
    if (const int deleted = mdb_cursor_del(cursor.get(), 0)) return deleted;
  }
  return 0;
}

int WriteBatch::bound_binaries() {
  if (!put_binary_) return 0;
  std::mt19937_64 random(std::random_device{}());
  for (;;) {
    MDB_stat statistics{};
    if (const int code = mdb_stat(transaction_, database_.table(Table::binaries), &statistics)) return code;
    const std::uint64_t pages = statistics.ms_leaf_pages + statistics.ms_overflow_pages;
    if (statistics.ms_entries <= 1 || pages * statistics.ms_psize <= retention_.binary_bytes) return 0;
    Cursor cursor;
    if (const int code = open_cursor(transaction_, database_.table(Table::binaries), cursor)) return code;
    // Keys are hashes: a random one picks a random entry.
    std::optional<std::array<std::uint8_t, 16>> oldest;
    std::chrono::sys_seconds date{};
    for (int pick = 0; pick < picked_binaries; ++pick) {
      const RecordKey anywhere = record_key({random(), random()}, 0);
      MDB_val key = to_value(ByteView(anywhere).first(problem_key_size)), value{};
      int code = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
      if (code == MDB_NOTFOUND) code = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST);
      if (code != 0) return code;
      const std::optional<Binary> picked = decode_binary(to_bytes(key), to_bytes(value));
      const std::chrono::sys_seconds then = picked ? picked->date : std::chrono::sys_seconds::min();
      if (oldest && then >= date) continue;
      oldest.emplace();
      std::memcpy(oldest->data(), key.mv_data, std::min(key.mv_size, oldest->size()));
      date = then;
    }
    MDB_val key{oldest->size(), oldest->data()};
    if (const int code = mdb_del(transaction_, database_.table(Table::binaries), &key, nullptr)) return code;
  }
}

int WriteBatch::apply(const PutQuarantine& change) {
  const Quarantined& quarantined = change.quarantined;
  const NumberedKey key = numbered_key(quarantined.key, quarantined.environment, candidate_hash(quarantined.candidate));
  std::optional<Quarantined> there;
  if (const int code = kept(Table::quarantine, key, decode_quarantined, there)) return code;
  if (there && !replaces(quarantined, *there)) return 0;
  if (const int code = put_problem(quarantined.key, quarantined.problem)) return code;
  changed_.push_back(quarantined.key);
  return put(Table::quarantine, key, encode(key, quarantined));
}

int WriteBatch::apply(const PutBinary& change) {
  const ByteView key = std::as_bytes(std::span(change.binary.key));
  std::optional<Binary> there;
  if (const int code = kept(Table::binaries, key, decode_binary, there)) return code;
  if (there && !replaces(change.binary, *there)) return 0;
  put_binary_ = true;
  return put(Table::binaries, key, encode(key, change.binary));
}

int WriteBatch::erase_prefix(Table table, ByteView prefix) {
  Cursor cursor;
  if (const int code = open_cursor(transaction_, database_.table(table), cursor)) return code;
  for (;;) {
    MDB_val key = to_value(prefix), value{};
    const int code = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
    if (code == MDB_NOTFOUND || (code == 0 && !has_prefix(key, prefix))) return 0;
    if (code != 0) return code;
    if (const int deleted = mdb_cursor_del(cursor.get(), 0)) return deleted;
  }
}

int WriteBatch::apply(const Forget& change) {
  const RecordKey key = record_key(change.key, change.environment);
  changed_.push_back(change.key);
  for (const Table table : {Table::records, Table::trials, Table::quarantine}) {
    if (const int code = erase_prefix(table, key)) return code;
  }
  return 0;
}

int WriteBatch::note(std::uint64_t store) {
  if (changed_.empty()) return 0;
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  CommitNote note{store, changed_};
  if (note.keys.size() > most_keys_of_a_note) note.keys.clear();
  std::uint64_t first = 0, next = 0;
  if (const int code = numbers(Table::commits, {}, first, next)) return code;
  const NumberKey key = number_key(next);
  if (const int code = put(Table::commits, key, encode(key, note))) return code;
  for (; next + 1 - first > most_notes; ++first) {
    const NumberKey oldest = number_key(first);
    MDB_val k = to_value(oldest);
    const int code = mdb_del(transaction_, database_.table(Table::commits), &k, nullptr);
    if (code != 0 && code != MDB_NOTFOUND) return code;
  }
  return 0;
}

}  // namespace hone::storage
