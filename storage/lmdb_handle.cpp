#include "storage/lmdb_handle.hpp"

#include <cerrno>
#include <hone/error.hpp>
#include <utility>

#include "storage/byte_lock.hpp"
#include "storage/file_system.hpp"

namespace hone::storage {
namespace {

constexpr long lock_file_bytes = 1 << 16;  // room for about 1,000 readers
constexpr std::size_t most_idle_readers = 32;

class LmdbCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "lmdb"; }
  std::string message(int code) const override { return mdb_strerror(code); }
};

// What a reader gets where another process, in another container, has this one's number: LMDB locks a byte by it.
bool number_is_taken(int code) noexcept { return code == EAGAIN || code == EACCES; }

void require(int code, const char* what) {
  if (code != 0) throw std::system_error(lmdb_error(code), what);
}

}  // namespace

std::error_code lmdb_error(int code) noexcept {
  static const LmdbCategory category;
  if (code > 0) return {code, std::generic_category()};
  return {code, category};
}

LmdbHandle::LmdbHandle(const LmdbOptions& options, std::span<const char* const> trees)
    : writer_lock_(options.writer_lock) {
  // LMDB writes its lock file through a map: a full disk would be SIGBUS.
  if (!reserve_blocks(options.lock_path, lock_file_bytes)) throw std::system_error(errno, std::generic_category());
  MDB_env* environment = nullptr;
  require(mdb_env_create(&environment), "creating an LMDB environment");
  environment_.reset(environment);
  require(mdb_env_set_maxdbs(environment, static_cast<MDB_dbi>(trees.size())), "setting LMDB's limits");
  require(mdb_env_set_mapsize(environment, options.map_size), "setting the map's size");
  require(mdb_env_open(environment, options.path.c_str(), options.flags | MDB_NOTLS, 0666), "opening the data file");
  mdb_filehandle_t descriptor{};
  require(mdb_env_get_fd(environment, &descriptor), "opening the data file");
  pages_ = std::make_unique<PageFile>(descriptor);
  sweep_readers();
  open_trees(trees);
}

LmdbHandle::~LmdbHandle() {
  for (MDB_txn* reader : readers_) mdb_txn_abort(reader);
}

void LmdbHandle::open_trees(std::span<const char* const> trees) {
  bool all = true;
  {
    const Snapshot snapshot = pages_->newest();
    // LMDB is about to follow these pages.
    pages_->scan(snapshot, snapshot.main, {}, [](ByteView, ByteView) { return true; });
    for (const char* name : trees) all = all && pages_->tree(snapshot, name).has_value();
  }
  trees_.resize(trees.size());
  const auto open = [&](MDB_txn* transaction, unsigned flags) {
    for (std::size_t i = 0; i < trees.size(); ++i) {
      if (const int code = mdb_dbi_open(transaction, trees[i], flags, &trees_[i])) return code;
    }
    return 0;
  };
  if (!all) {
    const std::error_code error = write([&](MDB_txn* transaction) { return open(transaction, MDB_CREATE); });
    if (error) throw std::system_error(error, "making the named databases");
    return;
  }
  MDB_txn* transaction = nullptr;
  int code = mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &transaction);
  if (number_is_taken(code)) {
    const std::error_code error = write([&](MDB_txn* writing) { return open(writing, 0); });
    if (error) throw std::system_error(error, "reading the named databases");
    return;
  }
  require(code, "reading the named databases");
  code = open(transaction, 0);
  if (code != 0) {
    mdb_txn_abort(transaction);
    require(code, "reading the named databases");
  }
  require(mdb_txn_commit(transaction), "reading the named databases");
}

void LmdbHandle::sweep_readers() noexcept {
  int dead = 0;
  mdb_reader_check(environment_.get(), &dead);
}

MDB_txn* LmdbHandle::take_reader(int& code) {
  MDB_txn* transaction = nullptr;
  {
    std::lock_guard lock(readers_mutex_);
    if (!readers_.empty()) {
      transaction = readers_.back();
      readers_.pop_back();
    }
  }
  std::shared_lock map(map_mutex_);
  if (transaction != nullptr) {
    code = mdb_txn_renew(transaction);
    if (code != 0) {
      mdb_txn_abort(transaction);
      transaction = nullptr;
    }
  } else {
    code = mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &transaction);
  }
  return code == 0 ? transaction : nullptr;
}

void LmdbHandle::give_back(MDB_txn* transaction) noexcept {
  mdb_txn_reset(transaction);
  std::lock_guard lock(readers_mutex_);
  if (readers_.size() < most_idle_readers) {
    readers_.push_back(transaction);
  } else {
    mdb_txn_abort(transaction);
  }
}

LmdbHandle::Pin::Pin(Pin&& other) noexcept
    : handle_(other.handle_), transaction_(std::exchange(other.transaction_, nullptr)), snapshot_(other.snapshot_) {}

LmdbHandle::Pin::~Pin() {
  if (transaction_ != nullptr) handle_->give_back(transaction_);
}

bool LmdbHandle::Pin::intact() const {
  // A writer takes pages that the last state but one does not use any more.
  return transaction_ != nullptr || handle_->pages_->newest().transaction <= snapshot_.transaction + 1;
}

LmdbHandle::Pin LmdbHandle::pin() {
  for (int attempt = 0; attempt < 8; ++attempt) {
    int code = 0;
    if (MDB_txn* transaction = take_reader(code)) {
      Pin pinned(*this, transaction, {});
      // Two commits may come between: then the state's meta page is overwritten, and a newer one is taken.
      if (const std::optional<Snapshot> snapshot = pages_->at(mdb_txn_id(transaction))) {
        pinned.snapshot_ = *snapshot;
        return pinned;
      }
      continue;
    }
    if (code == MDB_MAP_RESIZED) {
      std::unique_lock map(map_mutex_, std::try_to_lock);
      if (!map) break;
      require(mdb_env_set_mapsize(environment_.get(), 0), "following the map's growth");
    } else if (number_is_taken(code)) {
      break;
    } else if (code == MDB_READERS_FULL) {
      sweep_readers();
      if (attempt > 0) break;
    } else {
      require(code, "beginning to read");
    }
  }
  return Pin(*this, nullptr, pages_->newest());
}

int LmdbHandle::resize(std::size_t bytes) {
  std::unique_lock map(map_mutex_);
  return mdb_env_set_mapsize(environment_.get(), bytes);
}

std::error_code LmdbHandle::check_structure() {
  if (checked_) return {};
  if (!damage().empty()) return make_error_code(Errc::store_damaged);
  try {
    const Pin pinned = pin();
    pages_->check_structure(pinned.snapshot());
  } catch (const DamagedPage& damaged) {
    std::lock_guard lock(damage_mutex_);
    damage_ = damaged.what();
    return make_error_code(Errc::store_damaged);
  } catch (const std::system_error& error) {
    return error.code();
  }
  checked_ = true;
  return {};
}

std::string LmdbHandle::damage() const {
  std::lock_guard lock(damage_mutex_);
  return damage_;
}

std::error_code LmdbHandle::write(const std::function<int(MDB_txn*)>& change) {
  std::lock_guard one_writer(write_mutex_);
  if (const std::error_code error = check_structure()) return error;
  if (writer_lock_.file < 0) return write_locked(change);
  if (!lock_byte(writer_lock_.file, writer_lock_.byte, true)) return {errno, std::generic_category()};
  const std::unique_ptr<const WriterLock, void (*)(const WriterLock*)> unlocking(
      &writer_lock_, [](const WriterLock* lock) { unlock_byte(lock->file, lock->byte); });
  return write_locked(change);
}

std::error_code LmdbHandle::write_locked(const std::function<int(MDB_txn*)>& change) {
  for (;;) {
    std::size_t map_size = 0;
    int code = 0;
    {
      std::shared_lock map(map_mutex_);
      MDB_txn* transaction = nullptr;
      code = mdb_txn_begin(environment_.get(), nullptr, 0, &transaction);
      if (code == 0) {
        std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> open(transaction, &mdb_txn_abort);
        code = change(transaction);
        if (code == 0) code = mdb_txn_commit(open.release());
      }
      MDB_envinfo info{};
      mdb_env_info(environment_.get(), &info);
      map_size = info.me_mapsize;
    }
    if (code == MDB_MAP_FULL) {
      code = resize(2 * map_size);
    } else if (code == MDB_MAP_RESIZED) {
      code = resize(0);
    } else {
      return code == 0 ? std::error_code() : lmdb_error(code);
    }
    if (code != 0) return lmdb_error(code);
  }
}

std::uint64_t LmdbHandle::last_transaction() const noexcept {
  std::shared_lock map(map_mutex_);
  MDB_envinfo info{};
  mdb_env_info(environment_.get(), &info);
  return info.me_last_txnid;
}

}  // namespace hone::storage
