#include "storage/database.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "storage/codec.hpp"
#include "storage/file_system.hpp"
#include "storage/migration.hpp"
#include "storage/page.hpp"
#include "storage/store_error.hpp"

namespace hone::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view identity_key = "identity";
constexpr std::string_view created_key = "created";

// All that a hone database keeps in its directory.
constexpr std::array<std::string_view, 5> own_files{"data.mdb", "lock.mdb", "attempts.mdb", "attempts.mdb-lock",
                                                    "sessions"};

ByteView view(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

StoreError not_a_database(const std::string& path, const std::string& why) {
  return {Errc::store_unavailable, fmt::format("{} is not a hone database: {}", path, why),
          "give a directory that is empty or does not exist, or one that hone made"};
}

StoreError damaged(const std::string& path, const std::string& what) {
  return {Errc::store_damaged, fmt::format("{} is damaged: {}", path, what),
          fmt::format("save what is whole with `hone db repair {} NEW` and use the new database", path)};
}

StoreError unusable(const std::string& path, const std::error_code& error) {
  const char* remedy = "make it readable and writable for this process, or choose another directory";
  if (error == std::errc::no_space_on_device || error.value() == EDQUOT) {
    remedy = "free some space; what is learned meanwhile is kept in memory and written then";
  } else if (error == std::errc::read_only_file_system) {
    remedy = "choose a directory on a writable file system";
  }
  return {Errc::store_unavailable, fmt::format("{} cannot be used: {}", path, error.message()), remedy};
}

void refuse_newer(unsigned format, const std::string& directory, unsigned known) {
  if (format <= known) return;
  throw StoreError(Errc::foreign_schema,
                   fmt::format("{} has format {}, and this version of hone writes format {}", directory, format, known),
                   "update hone, or choose another directory for this version; it is used read-only meanwhile");
}

void refuse_network(const std::string& directory, const DatabaseOptions& options) {
  const long type = options.file_system_type ? options.file_system_type(directory) : file_system_type(directory);
  if (const auto name = network_file_system(type)) {
    throw StoreError(Errc::store_unavailable, fmt::format("{} lies on a network file system ({})", directory, *name),
                     "choose a directory on a local disk: several machines cannot share one LMDB database");
  }
}

// Makes a missing directory; looks at an existing one without changing anything.
void inspect(const std::string& directory, const DatabaseOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    if (status.type() != fs::file_type::not_found) throw unusable(directory, error);
    fs::create_directories(directory, error);
    if (error) throw unusable(directory, error);
    return;
  }
  if (!fs::is_directory(status)) throw not_a_database(directory, "it is not a directory");
  const std::string data = directory + "/data.mdb";
  if (!fs::exists(data, error)) {
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename();
      if (std::find(own_files.begin(), own_files.end(), name) == own_files.end()) {
        throw not_a_database(directory, fmt::format("it has no data.mdb, but holds {}", name));
      }
    }
    if (error) throw unusable(directory, error);
    return;
  }
  if (fs::file_size(data, error) == 0 && !error) return;  // a process ended while it made the file
  const int file = ::open(data.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw unusable(data, {errno, std::generic_category()});
  const std::unique_ptr<const int, void (*)(const int*)> closing(&file, [](const int* f) { ::close(*f); });
  std::optional<PageFile> pages;
  try {
    pages.emplace(file);
  } catch (const DamagedPage& page) {
    throw not_a_database(data, page.what());
  }
  try {
    const Snapshot snapshot = pages->newest();
    const bool unused = snapshot.transaction == 0 && snapshot.main.root == Tree::empty;
    if (!unused) refuse_newer(read_format(*pages, data), directory, options.format);
  } catch (const DamagedPage& page) {
    throw damaged(directory, page.what());
  }
}

std::string fresh_identity() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
}

struct Registry {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Database>> open;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

std::string data_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? path + "/data.mdb" : path;
}

unsigned read_format(const PageFile& pages, const std::string& path) {
  const Snapshot snapshot = pages.newest();
  const std::optional<Tree> meta = pages.tree(snapshot, table_names[0]);
  if (!meta) throw not_a_database(path, "it has no hone identity");
  std::optional<unsigned> format;
  bool identified = false;
  pages.scan(snapshot, *meta, {}, [&](ByteView key, ByteView value) {
    std::string why;
    const std::optional<std::string> text = decode_text(key, value, &why);
    if (compare_keys(key, view(identity_key)) == 0) identified = true;
    if (compare_keys(key, view(format_key)) != 0) return true;
    if (!text) throw DamagedPage("the format number is damaged: " + why);
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error == std::errc() && end == text->data() + text->size()) format = number;
    return true;
  });
  if (!format || !identified) throw not_a_database(path, "it has no hone identity");
  return *format;
}

std::shared_ptr<Database> Database::open(const std::string& directory, const DatabaseOptions& options) {
  refuse_network(directory, options);
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  inspect(directory, options);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) throw unusable(directory, {errno, std::generic_category()});
  std::weak_ptr<Database>& entry = known.open[{status.st_dev, status.st_ino}];
  if (std::shared_ptr<Database> database = entry.lock(); database && !database->forked() && database->in_place()) {
    return database;
  }
  std::shared_ptr<Database> database;
  try {
    database = std::make_shared<Database>(directory, options);
  } catch (const DamagedPage& page) {
    throw damaged(directory, page.what());
  } catch (const StoreError&) {
    throw;
  } catch (const std::system_error& error) {
    throw unusable(directory, error.code());
  }
  entry = database;
  return database;
}

Database::Database(std::string directory, const DatabaseOptions& options) : directory_(std::move(directory)) {
  session_ = std::make_unique<Session>(directory_);
  open_data(options);
}

Database::~Database() {
  // In a forked child the environment belongs to the parent: its locks and reader slots must stay.
  if (forked()) static_cast<void>(data_.release());
}

void Database::open_data(const DatabaseOptions& options) {
  LmdbOptions lmdb;
  lmdb.path = directory_;
  lmdb.lock_path = directory_ + "/lock.mdb";
  lmdb.map_size = options.map_size;
  lmdb.writer_lock = session_->data_writer_lock();
  data_ = std::make_unique<LmdbHandle>(lmdb, table_names);
  struct stat status {};
  if (::stat(data_file(directory_).c_str(), &status) != 0) throw std::system_error(errno, std::generic_category());
  device_ = status.st_dev;
  inode_ = status.st_ino;
  const LmdbHandle::Pin pin = data_->pin();
  const std::optional<Tree> meta = data_->pages().tree(pin.snapshot(), table_names[0]);
  if (meta && meta->entries > 0) {
    const unsigned format = read_format(data_->pages(), directory_);
    refuse_newer(format, directory_, options.format);  // another process may have made it meanwhile
    if (format < options.format) migrate_from(format, options);
    return;
  }
  const std::string date = std::to_string(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  const std::array<std::pair<std::string_view, std::string>, 3> facts{
      {{format_key, std::to_string(options.format)}, {identity_key, fresh_identity()}, {created_key, date}}};
  const std::error_code error = data_->write([&](MDB_txn* transaction) {
    for (const auto& [name, text] : facts) {
      const Bytes value = encode_text(view(name), text);
      MDB_val k = to_value(view(name)), v = to_value(value);
      const int code = mdb_put(transaction, table(Table::meta), &k, &v, MDB_NOOVERWRITE);
      if (code != 0 && code != MDB_KEYEXIST) return code;
    }
    return 0;
  });
  if (error) throw std::system_error(error);
}

void Database::migrate_from(unsigned format, const DatabaseOptions& options) {
  // A program of the older version that has it open would go on writing what it knows; none may open it meanwhile.
  const bool alone = session_->exclude_openings() && !session_->others_alive();
  if (!alone) {
    session_->allow_openings();
    throw StoreError(Errc::store_unavailable,
                     fmt::format("{} has format {} and must become format {}, but others use it", directory_, format,
                                 options.format),
                     "end the programs of the older version; it is tried again");
  }
  const std::error_code error = data_->write(
      [&](MDB_txn* transaction) { return migrate(transaction, *this, options.steps, format, options.format); });
  session_->allow_openings();
  if (error) throw std::system_error(error);
}

bool Database::in_place() const noexcept {
  struct stat status {};
  const std::string path = directory_ + "/data.mdb";
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

}  // namespace hone::storage
