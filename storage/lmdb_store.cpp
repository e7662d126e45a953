#include "storage/lmdb_store.hpp"

#include <algorithm>
#include <hone/error.hpp>
#include <random>

#include "storage/page.hpp"
#include "storage/write_batch.hpp"

namespace hone::storage {
namespace {

constexpr int most_readings = 8;

std::uint64_t random_id() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32 | entropy();
}

std::chrono::nanoseconds monotonic() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

std::chrono::sys_seconds today() noexcept {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

LmdbStore::LmdbStore(std::shared_ptr<Database> database, Retention retention)
    : database_(std::move(database)),
      reader_(database_->data().pages(), database_->directory()),
      retention_(retention),
      id_(random_id()) {
  seen_transaction_ = database_->data().last_transaction();
  seen_note_ = reading(std::uint64_t{0}, [this](const Snapshot& snapshot) {
    const Bytes key = reader_.last_key(snapshot, Table::commits);
    return key.empty() ? 0 : number_at(key, 0) + 1;
  });
  abandoned_ = database_->session().abandoned();
}

LmdbStore::~LmdbStore() {
  if (!database_->forked()) database_->session().release_all(id_);
}

template <class Result, class Read>
Result LmdbStore::reading(Result nothing, const Read& read) {
  if (database_->forked()) return nothing;
  std::string what;
  // A snapshot that could not be pinned may change under the reader: what looks like damage is looked at again, and so
  // is what was read while it changed.
  for (int attempt = 0; attempt < most_readings; ++attempt) {
    try {
      const LmdbHandle::Pin pin = database_->data().pin();
      const std::size_t damage = reader_.damage().mark();
      Result result = read(pin.snapshot());
      if (pin.intact()) return result;
      reader_.damage().forget_since(damage);
      what = "other processes write faster than it can be read";
    } catch (const DamagedPage& page) {
      what = page.what();
    } catch (const std::system_error& error) {
      what = error.what();
    }
  }
  reader_.damage().add("pages", what);
  return nothing;
}

std::optional<Found> LmdbStore::find(const ProblemKey& key, std::string_view problem, const Environment& environment) {
  return reading(std::optional<Found>(),
                 [&](const Snapshot& snapshot) { return reader_.find(snapshot, key, problem, environment); });
}

std::vector<Quarantined> LmdbStore::quarantined(const ProblemKey& key, std::uint64_t environment) {
  return reading(std::vector<Quarantined>(),
                 [&](const Snapshot& snapshot) { return reader_.quarantined(snapshot, key, environment); });
}

std::vector<Trial> LmdbStore::trials(const ProblemKey& key, std::uint64_t environment) {
  return reading(std::vector<Trial>(),
                 [&](const Snapshot& snapshot) { return reader_.trials(snapshot, key, environment); });
}

std::optional<Binary> LmdbStore::binary(const std::array<std::uint8_t, 16>& key) {
  return reading(std::optional<Binary>(), [&](const Snapshot& snapshot) { return reader_.binary(snapshot, key); });
}

std::vector<Found> LmdbStore::sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                                     std::size_t limit) {
  return reading(std::vector<Found>(), [&](const Snapshot& snapshot) {
    return reader_.sample(snapshot, key, operation, environment, limit);
  });
}

std::error_code LmdbStore::commit(std::span<const Change> changes) {
  if (database_->forked()) return make_error_code(Errc::forked);
  if (!database_->in_place()) return make_error_code(Errc::store_unavailable);
  const std::error_code error = database_->data().write([&](MDB_txn* transaction) {
    WriteBatch batch(*database_, transaction, retention_);
    const int code = batch.apply(changes);
    return code != 0 ? code : batch.note(id_);
  });
  if (error == Errc::store_damaged) reader_.damage().add("pages", database_->data().damage());
  return error;
}

ForeignChanges LmdbStore::foreign_changes() {
  ForeignChanges result;
  if (database_->forked()) return result;
  const std::uint64_t transaction = database_->data().last_transaction();
  if (seen_transaction_.load(std::memory_order_relaxed) == transaction) return result;
  std::lock_guard lock(changes_mutex_);
  struct Seen {
    ForeignChanges changes;
    std::uint64_t next = 0;
    std::uint64_t transaction = 0;
  };
  std::optional<Seen> seen = reading(std::optional<Seen>(), [&](const Snapshot& snapshot) -> std::optional<Seen> {
    Seen now{{}, seen_note_, snapshot.transaction};
    reader_.scan(snapshot, Table::commits, number_key(seen_note_), [&](ByteView key, ByteView value) {
      const std::uint64_t number = number_at(key, 0);
      std::string why;
      const std::optional<CommitNote> note = decode_note(key, value, &why);
      if (!note) reader_.damage().add(place(Table::commits, key), why);
      // A gap: notes were dropped before they were seen here.
      if (number != now.next || !note || (note->store != id_ && note->keys.empty())) now.changes.everything = true;
      if (note && note->store != id_) {
        now.changes.keys.insert(now.changes.keys.end(), note->keys.begin(), note->keys.end());
      }
      now.next = number + 1;
      return true;
    });
    return now;
  });
  if (!seen) return result;
  seen_note_ = seen->next;
  seen_transaction_.store(seen->transaction, std::memory_order_relaxed);
  result = std::move(seen->changes);
  std::sort(result.keys.begin(), result.keys.end());
  result.keys.erase(std::unique(result.keys.begin(), result.keys.end()), result.keys.end());
  return result;
}

std::vector<Damage> LmdbStore::damage() { return reader_.damage().take(); }

std::vector<Quarantined> LmdbStore::abandoned_attempts() {
  std::lock_guard lock(attempts_mutex_);
  std::vector<Quarantined> result;
  for (const Attempt& attempt : abandoned_) {
    result.push_back(attempt.attempted);
    result.back().cause = "the process ended while it ran";
  }
  return result;
}

std::error_code LmdbStore::forget_attempts() {
  std::lock_guard lock(attempts_mutex_);
  if (abandoned_.empty()) return {};
  const std::error_code error = database_->session().forget(abandoned_);
  if (!error) abandoned_.clear();
  return error;
}

std::error_code LmdbStore::begin_attempt(const ProblemKey& key, std::string_view problem, std::uint64_t environment,
                                         const Candidate& candidate) {
  if (database_->forked()) return make_error_code(Errc::forked);
  return database_->session().begin_attempt({key, std::string(problem), environment, candidate, {}, today()});
}

std::error_code LmdbStore::end_attempt(const ProblemKey& key, std::uint64_t environment, const Candidate& candidate) {
  if (database_->forked()) return make_error_code(Errc::forked);
  return database_->session().end_attempt(key, environment, candidate);
}

bool LmdbStore::claim(const ProblemKey& key, std::uint64_t environment, std::chrono::nanoseconds duration) {
  if (database_->forked()) return false;
  return database_->session().claim(key, environment, id_, monotonic(), duration);
}

void LmdbStore::release(const ProblemKey& key, std::uint64_t environment) {
  if (!database_->forked()) database_->session().release(key, environment, id_);
}

}  // namespace hone::storage
