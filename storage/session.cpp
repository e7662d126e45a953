#include "storage/session.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <hone/error.hpp>
#include <random>

#include "storage/byte_lock.hpp"

namespace hone::storage {
namespace {

constexpr std::array<const char*, 2> tree_names{"attempts", "claims"};
enum TreeIndex : std::size_t { attempts_tree, claims_tree };

// Bytes of the file `sessions`, which stays empty: locks need no bytes behind them.
constexpr std::uint64_t opening_byte = 0;
constexpr std::uint64_t data_writer_byte = 1;
constexpr std::uint64_t attempts_writer_byte = 2;
constexpr std::uint64_t first_session = std::uint64_t{1} << 32;
constexpr std::uint64_t first_device = std::uint64_t{1} << 62;

std::uint64_t device_byte(std::string_view device) noexcept {
  return first_device + (XXH3_64bits(device.data(), device.size()) >> 3);
}

NumberedKey attempt_key(const ProblemKey& key, std::uint64_t environment, const Candidate& candidate,
                        std::uint64_t session) noexcept {
  return numbered_key(key, environment, candidate_hash(candidate) ^ session * 0x9E3779B97F4A7C15u);
}

int for_each(MDB_txn* transaction, MDB_dbi tree, const std::function<int(MDB_cursor*, ByteView, ByteView)>& visit) {
  MDB_cursor* cursor = nullptr;
  if (const int code = mdb_cursor_open(transaction, tree, &cursor)) return code;
  MDB_val key{}, value{};
  int code = 0;
  while (code == 0 && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    code = visit(cursor, to_bytes(key), to_bytes(value));
  }
  mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND ? 0 : code;
}

}  // namespace

Session::Session(std::string directory) {
  const std::string path = directory + "/sessions";
  locks_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (locks_ < 0) throw std::system_error(errno, std::generic_category(), path);
  try {
    // One at a time, so that nobody makes the environment anew while another opens it.
    if (!lock_byte(locks_, opening_byte, true)) throw std::system_error(errno, std::generic_category(), path);
    open_environment(directory);
    std::random_device entropy;
    do {
      const std::uint64_t number = std::uint64_t{entropy()} << 32 | entropy();
      id_ = first_session + number % (first_device - first_session);
    } while (!lock_byte(locks_, id_, false));
    unlock_byte(locks_, opening_byte);
  } catch (...) {
    ::close(locks_);
    throw;
  }
}

Session::~Session() {
  if (guard_.forked()) {
    static_cast<void>(environment_.release());  // belongs to the parent
    return;
  }
  environment_.reset();
  ::close(locks_);
}

void Session::open_environment(const std::string& directory) {
  LmdbOptions options;
  options.path = directory + "/attempts.mdb";
  options.lock_path = options.path + "-lock";
  options.flags = MDB_NOSUBDIR | MDB_NOSYNC;
  options.map_size = std::size_t{1} << 22;
  options.writer_lock = {locks_, attempts_writer_byte};
  const bool alone = !others_alive();
  if (alone && std::filesystem::exists(options.path) && std::filesystem::file_size(options.path) > 0) {
    // Nobody uses it, so it may be checked as a whole, and made anew.
    const int file = ::open(options.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw std::system_error(errno, std::generic_category(), options.path);
    bool whole = true;
    try {
      const PageFile pages(file);
      const Snapshot snapshot = pages.newest();
      pages.check_structure(snapshot);
    } catch (const DamagedPage&) {
      whole = false;
    }
    ::close(file);
    if (!whole) {
      std::filesystem::remove(options.path);
      std::filesystem::remove(options.lock_path);
    }
  }
  environment_ = std::make_unique<LmdbHandle>(options, tree_names);
}

bool Session::others_alive() const noexcept {
  return locked_by_another(locks_, first_session, first_device - first_session);
}

void Session::allow_openings() noexcept { unlock_byte(locks_, opening_byte); }

bool Session::exclude_openings() noexcept { return lock_byte(locks_, opening_byte, true); }

WriterLock Session::data_writer_lock() const noexcept { return {locks_, data_writer_byte}; }

bool Session::alive(std::uint64_t session) const noexcept {
  return session == id_ ||
         (session >= first_session && session < first_device && locked_by_another(locks_, session, 1));
}

std::error_code Session::begin_attempt(const Quarantined& attempted) {
  const NumberedKey key = attempt_key(attempted.key, attempted.environment, attempted.candidate, id_);
  const Bytes value = encode(key, Attempt{id_, attempted});
  return environment_->write([&](MDB_txn* transaction) {
    MDB_val k = to_value(key), v = to_value(value);
    return mdb_put(transaction, environment_->tree(attempts_tree), &k, &v, 0);
  });
}

std::error_code Session::end_attempt(const ProblemKey& problem, std::uint64_t environment, const Candidate& candidate) {
  const NumberedKey key = attempt_key(problem, environment, candidate, id_);
  return environment_->write([&](MDB_txn* transaction) {
    MDB_val k = to_value(key);
    const int code = mdb_del(transaction, environment_->tree(attempts_tree), &k, nullptr);
    return code == MDB_NOTFOUND ? 0 : code;
  });
}

std::vector<Attempt> Session::abandoned() {
  constexpr int most_readings = 8;
  for (int attempt = 1;; ++attempt) {
    const LmdbHandle::Pin pin = environment_->pin();
    try {
      std::vector<Attempt> result = abandoned_at(pin.snapshot());
      if (pin.intact() || attempt == most_readings) return result;
    } catch (const DamagedPage&) {
      if (pin.intact() || attempt == most_readings) throw;
    }
  }
}

std::vector<Attempt> Session::abandoned_at(const Snapshot& snapshot) const {
  std::vector<Attempt> result;
  const std::optional<Tree> tree = environment_->pages().tree(snapshot, tree_names[attempts_tree]);
  if (!tree) return result;
  environment_->pages().scan(snapshot, *tree, {}, [&](ByteView key, ByteView value) {
    // A marker that does not decode was torn by a crash of the system: it says nothing about a candidate.
    std::optional<Attempt> attempt = decode_attempt(key, value);
    if (attempt && !alive(attempt->session)) result.push_back(std::move(*attempt));
    return true;
  });
  return result;
}

std::error_code Session::forget(const std::vector<Attempt>& attempts) {
  return environment_->write([&](MDB_txn* transaction) {
    for (const Attempt& attempt : attempts) {
      const Quarantined& attempted = attempt.attempted;
      const NumberedKey key = attempt_key(attempted.key, attempted.environment, attempted.candidate, attempt.session);
      MDB_val k = to_value(key);
      const int code = mdb_del(transaction, environment_->tree(attempts_tree), &k, nullptr);
      if (code != 0 && code != MDB_NOTFOUND) return code;
    }
    return 0;
  });
}

bool Session::claim(const ProblemKey& problem, std::uint64_t environment, std::uint64_t store,
                    std::chrono::nanoseconds now, std::chrono::nanoseconds duration) {
  const RecordKey key = record_key(problem, environment);
  bool granted = false;
  const std::error_code error = environment_->write([&](MDB_txn* transaction) {
    granted = false;
    MDB_val k = to_value(key), v{};
    const int code = mdb_get(transaction, environment_->tree(claims_tree), &k, &v);
    if (code != 0 && code != MDB_NOTFOUND) return code;
    if (code == 0) {
      const std::optional<Claim> held = decode_claim(key, to_bytes(v));
      const bool mine = held && held->session == id_ && held->store == store;
      if (held && !mine && held->expires > now.count() && alive(held->session)) return 0;
    }
    const Bytes value = encode(key, Claim{id_, store, (now + duration).count()});
    v = to_value(value);
    granted = true;
    return mdb_put(transaction, environment_->tree(claims_tree), &k, &v, 0);
  });
  return granted && !error;
}

void Session::release(const ProblemKey& problem, std::uint64_t environment, std::uint64_t store) {
  const RecordKey key = record_key(problem, environment);
  // A claim that cannot be removed ends with its duration.
  static_cast<void>(environment_->write([&](MDB_txn* transaction) {
    MDB_val k = to_value(key), v{};
    const int code = mdb_get(transaction, environment_->tree(claims_tree), &k, &v);
    if (code != 0) return code == MDB_NOTFOUND ? 0 : code;
    const std::optional<Claim> held = decode_claim(key, to_bytes(v));
    if (!held || held->session != id_ || held->store != store) return 0;
    return mdb_del(transaction, environment_->tree(claims_tree), &k, nullptr);
  }));
}

void Session::release_all(std::uint64_t store) {
  static_cast<void>(environment_->write([&](MDB_txn* transaction) {
    const auto visit = [&](MDB_cursor* cursor, ByteView key, ByteView value) {
      const std::optional<Claim> held = decode_claim(key, value);
      const bool ended = !held || !alive(held->session) || (held->session == id_ && held->store == store);
      return ended ? mdb_cursor_del(cursor, 0) : 0;
    };
    return for_each(transaction, environment_->tree(claims_tree), visit);
  }));
}

bool Session::lock_device(std::string_view device) {
  std::lock_guard lock(devices_mutex_);
  if (devices_.contains(device)) return false;
  if (!lock_byte(locks_, device_byte(device), false)) return false;
  devices_.emplace(device);
  return true;
}

void Session::unlock_device(std::string_view device) noexcept {
  if (guard_.forked()) return;
  std::lock_guard lock(devices_mutex_);
  const auto held = devices_.find(device);
  if (held == devices_.end()) return;
  devices_.erase(held);
  unlock_byte(locks_, device_byte(device));
}

}  // namespace hone::storage
