#include "storage/maintenance.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "storage/database_reader.hpp"
#include "storage/lmdb_store.hpp"
#include "storage/store_error.hpp"
#include "storage/whole_file.hpp"

namespace hone::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::array all_tables{Table::meta,   Table::environments, Table::problems, Table::records,
                                Table::trials, Table::quarantine,   Table::binaries, Table::commits};
constexpr std::size_t bulk_changes = 16384;
// Of a database that is written in bulk nothing is dropped.
constexpr Retention keep_all{~std::uint64_t{0} >> 1, ~std::uint64_t{0} >> 1, ~std::uint64_t{0} >> 1};

const char* name_of(Table table) { return table_names[static_cast<std::size_t>(table)]; }

StoreError failure(const std::string& path, const std::error_code& error) {
  return {Errc::store_unavailable, fmt::format("{} cannot be written: {}", path, error.message()),
          "see to its permissions and to free space"};
}

StoreError damaged(const std::string& path, const char* what) {
  return {Errc::store_damaged, fmt::format("{} is damaged: {}", path, what),
          fmt::format("save what is whole with `hone db repair {} NEW`", path)};
}

std::optional<Change> change_of(Table table, ByteView key, ByteView value) {
  const auto put = [](auto decoded, auto wrap) -> std::optional<Change> {
    if (!decoded) return {};
    return wrap(std::move(*decoded));
  };
  switch (table) {
    case Table::environments:
      return put(decode_environment(key, value), [](Environment e) { return PutEnvironment{std::move(e)}; });
    case Table::records:
      return put(decode_record(key, value), [](Record r) { return MergeRecord{std::move(r)}; });
    case Table::trials:
      return put(decode_trial(key, value), [](Trial t) { return MergeTrial{std::move(t)}; });
    case Table::quarantine:
      return put(decode_quarantined(key, value), [](Quarantined q) { return PutQuarantine{std::move(q)}; });
    case Table::binaries:
      return put(decode_binary(key, value), [](Binary b) { return PutBinary{std::move(b)}; });
    case Table::meta:
    case Table::problems:
    case Table::commits:
      break;
  }
  return {};
}

constexpr std::array content_tables{Table::environments, Table::records, Table::trials, Table::quarantine,
                                    Table::binaries};

// Counts work and tells it every now and then.
class Steps {
 public:
  Steps(const Progress& progress, std::uint64_t total) : progress_(progress), total_(total) {}
  void step() {
    if (progress_ && ++done_ % 1024 == 0) progress_(done_, std::max(done_, total_));
  }
  void finish() {
    if (progress_) progress_(std::max(done_, total_), std::max(done_, total_));
  }

 private:
  const Progress& progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

}  // namespace

CheckReport check(const std::string& path, const Progress& progress) {
  CheckReport report;
  const auto add = [&](std::string where, std::string what) {
    report.damage.push_back({fmt::format("{}: {}", path, where), std::move(what)});
  };
  try {
    const WholeFile file(path);
    const std::uint64_t pages = file.snapshot().last_page + 1;
    std::uint64_t entries = 0;
    std::string structure;
    try {
      const auto tell = [&](std::uint64_t done) {
        if (progress) progress(done, 2 * pages);
      };
      file.pages().check_structure(file.snapshot(), tell);
      if (read_format(file.pages(), path) > format_version) add("meta format", "it is newer than this version knows");
    } catch (const DamagedPage& page) {
      structure = page.what();
      add("pages", page.what());
    }
    for (const Table table : all_tables) {
      TableCount count{name_of(table), 0};
      const auto on_damage = [&](const DamagedPage& page) {
        if (page.what() != structure) add(fmt::format("{} pages", name_of(table)), page.what());
      };
      try {
        file.scan(
            table,
            [&](ByteView key, ByteView value) {
              const std::string fault = value_fault(table, key, value);
              if (fault.empty()) {
                ++count.entries;
              } else {
                add(place(table, key), fault);
              }
              if (progress && ++entries % 1024 == 0) progress(pages + std::min(pages, entries / 8), 2 * pages);
              return true;
            },
            on_damage);
      } catch (const DamagedPage& page) {
        on_damage(page);
      }
      report.tables.push_back(count);
    }
    if (progress) progress(2 * pages, 2 * pages);
  } catch (const DamagedPage& page) {
    add("file", page.what());
  }
  return report;
}

DatabaseFacts facts(const std::string& path) {
  DatabaseFacts result;
  try {
    const WholeFile file(path);
    result.format = read_format(file.pages(), path);
    result.file_bytes = file.pages().file_size();
    result.used_bytes = (file.snapshot().last_page + 1) * file.pages().page_size();
    for (const Table table : all_tables) result.tables.push_back({name_of(table), file.entries(table)});
    file.scan(Table::meta, [&](ByteView key, ByteView value) {
      const std::string_view name(reinterpret_cast<const char*>(key.data()), key.size());
      if (name == "identity") result.identity = decode_text(key, value).value_or("damaged");
      return true;
    });
  } catch (const DamagedPage& page) {
    throw damaged(path, page.what());
  }
  return result;
}

VisitCounts visit(const std::string& path, const std::function<void(Change)>& change, const Progress& progress) {
  VisitCounts counts;
  try {
    const WholeFile file(path);
    read_format(file.pages(), path);
    std::uint64_t total = 0;
    for (const Table table : content_tables) total += file.entries(table);
    Steps steps(progress, total);
    for (const Table table : content_tables) {
      file.scan(
          table,
          [&](ByteView key, ByteView value) {
            steps.step();
            if (std::optional<Change> whole = change_of(table, key, value)) {
              ++counts.given;
              change(std::move(*whole));
            } else {
              ++counts.damaged;
            }
            return true;
          },
          [&](const DamagedPage&) { ++counts.damaged; });
    }
    steps.finish();
  } catch (const DamagedPage& page) {
    throw damaged(path, page.what());
  }
  return counts;
}

struct BulkWriter::State {
  explicit State(const std::string& p) : path(p), store(Database::open(p), keep_all) {}
  std::string path;
  LmdbStore store;
  std::vector<Change> waiting;
};

BulkWriter::BulkWriter(const std::string& path) : state_(std::make_unique<State>(path)) {}

BulkWriter::~BulkWriter() = default;

void BulkWriter::add(Change change) {
  state_->waiting.push_back(std::move(change));
  if (state_->waiting.size() >= bulk_changes) finish();
}

void BulkWriter::finish() {
  if (state_->waiting.empty()) return;
  const std::vector<Change> changes = std::exchange(state_->waiting, {});
  const std::error_code error = state_->store.commit(changes);
  if (error == make_error_code(Errc::store_damaged)) throw damaged(state_->path, "LMDB cannot write it safely");
  if (error) throw failure(state_->path, error);
}

VisitCounts merge(const std::string& target, const std::string& source, const Progress& progress) {
  BulkWriter writer(target);
  const VisitCounts counts = visit(
      source, [&](Change change) { writer.add(std::move(change)); }, progress);
  writer.finish();
  return counts;
}

namespace {

// Writes entries as they are into a new LMDB file, which appears under its name when it is complete.
class FileWriter {
 public:
  FileWriter(std::string file, std::size_t map_size) : file_(std::move(file)), temporary_(file_ + ".new") {
    fs::remove(temporary_);
    MDB_env* environment = nullptr;
    require(mdb_env_create(&environment));
    environment_.reset(environment);
    require(mdb_env_set_maxdbs(environment, table_names.size()));
    require(mdb_env_set_mapsize(environment, map_size));
    require(mdb_env_open(environment, temporary_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644));
    require(mdb_txn_begin(environment, nullptr, 0, &transaction_));
    for (std::size_t i = 0; i < table_names.size(); ++i) {
      require(mdb_dbi_open(transaction_, table_names[i], MDB_CREATE, &trees_[i]));
    }
  }
  ~FileWriter() {
    if (transaction_ != nullptr) mdb_txn_abort(transaction_);
    environment_.reset();
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void add(Table table, ByteView key, ByteView value) {
    MDB_val k = to_value(key), v = to_value(value);
    require(mdb_put(transaction_, trees_[static_cast<std::size_t>(table)], &k, &v, MDB_APPEND));
  }
  void finish() {
    require(mdb_txn_commit(std::exchange(transaction_, nullptr)));
    require(mdb_env_sync(environment_.get(), 1));
    environment_.reset();
    fs::rename(temporary_, file_);
  }

 private:
  void require(int code) const {
    if (code != 0) throw failure(file_, lmdb_error(code));
  }
  struct Close {
    void operator()(MDB_env* environment) const noexcept { mdb_env_close(environment); }
  };
  std::string file_;
  std::string temporary_;
  std::unique_ptr<MDB_env, Close> environment_;
  MDB_txn* transaction_ = nullptr;
  std::array<MDB_dbi, table_names.size()> trees_{};
};

void copy(const WholeFile& from, FileWriter& to, std::span<const Table> tables, const Progress& progress) {
  std::uint64_t total = 0;
  for (const Table table : tables) total += from.entries(table);
  Steps steps(progress, total);
  for (const Table table : tables) {
    from.scan(table, [&](ByteView key, ByteView value) {
      steps.step();
      to.add(table, key, value);
      return true;
    });
  }
  steps.finish();
}

std::size_t room_for(const WholeFile& file) { return 2 * file.pages().file_size() + (std::size_t{1} << 24); }

}  // namespace

CompactCounts compact(const std::string& path, const Progress& progress) {
  CompactCounts counts;
  const std::string data = data_file(path);
  if (data == path) throw damaged(path, "only directories are compacted; build a file anew");
  std::shared_ptr<Database> database = Database::open(path);
  // Nobody opens it until this is done.
  if (database.use_count() > 1 || !database->session().exclude_openings() || database->session().others_alive()) {
    throw StoreError(Errc::store_unavailable, fmt::format("{} is in use", path), "end the programs that use it first");
  }
  try {
    const WholeFile file(path);
    file.pages().check_structure(file.snapshot());
    counts.bytes_before = file.pages().file_size();
    FileWriter writer(data, room_for(file));
    copy(file, writer, all_tables, progress);
    writer.finish();
  } catch (const DamagedPage& page) {
    throw damaged(path, page.what());
  }
  counts.bytes_after = fs::file_size(data);
  return counts;
}

VisitCounts build(const std::string& file, const std::vector<std::string>& sources, bool with_trials,
                  const Progress& progress) {
  VisitCounts all;
  const std::string gathered = file + ".gathered";
  fs::remove_all(gathered);
  try {
    for (const std::string& source : sources) {
      const VisitCounts counts = merge(gathered, source, progress);
      all.given += counts.given;
      all.damaged += counts.damaged;
    }
    const WholeFile whole(gathered);
    FileWriter writer(file, room_for(whole));
    std::vector<Table> tables{Table::meta, Table::environments, Table::problems, Table::records, Table::binaries};
    if (with_trials) tables.push_back(Table::trials);
    copy(whole, writer, tables, progress);
    writer.finish();
  } catch (...) {
    fs::remove_all(gathered);
    throw;
  }
  fs::remove_all(gathered);
  return all;
}

namespace {

// Entries that no tree reaches: the key's length and the keyed checksum tell what they were.
std::optional<Change> salvaged_change(ByteView key, ByteView value) {
  const auto of = [&](Table table) { return change_of(table, key, value); };
  if (key.size() == record_key_size) return of(Table::records);
  if (key.size() == sizeof(NumberedKey)) {
    // A trial's and a quarantined candidate's content can be mistaken for each other only where a verifier accepts
    // both.
    std::optional<Change> trial = of(Table::trials);
    const std::uint64_t number = number_at(key, record_key_size);
    std::optional<Change> quarantined = of(Table::quarantine);
    const auto* put = quarantined ? std::get_if<PutQuarantine>(&*quarantined) : nullptr;
    if (put != nullptr && candidate_hash(put->quarantined.candidate) == number) return quarantined;
    return trial;
  }
  if (key.size() == problem_key_size) return of(Table::binaries);
  if (key.size() == sizeof(NumberKey)) {
    std::optional<Change> environment = of(Table::environments);
    const auto* put = environment ? std::get_if<PutEnvironment>(&*environment) : nullptr;
    if (put != nullptr && put->environment.id() == number_at(key, 0)) return environment;
  }
  return {};
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) throw failure(path, {errno, std::generic_category()});
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace

RepairCounts repair(const std::string& path, const std::string& target, const Progress& progress) {
  RepairCounts counts;
  if (fs::exists(target)) {
    throw StoreError(Errc::invalid_option, fmt::format("{} exists already", target), "name a new directory");
  }
  const std::string data = data_file(path);
  const Descriptor descriptor(data);
  bool pages_damaged = false;
  BulkWriter writer(target);
  try {
    const WholeFile file(path);
    file.pages().check_structure(file.snapshot());
  } catch (const DamagedPage&) {
    pages_damaged = true;
  }
  try {
    const VisitCounts reached = visit(
        path, [&](Change change) { writer.add(std::move(change)); }, progress);
    counts.saved = reached.given;
    counts.damaged = reached.damaged;
  } catch (const StoreError&) {
    pages_damaged = true;
    ++counts.damaged;
  }
  writer.finish();
  if (!pages_damaged) return counts;
  std::optional<PageFile> pages;
  try {
    pages.emplace(descriptor.number());
  } catch (const DamagedPage&) {
    pages.emplace(descriptor.number(), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  }
  const std::uint64_t total = pages->file_size() / pages->page_size();
  pages->salvage(
      [&](ByteView key, ByteView value) {
        if (std::optional<Change> change = salvaged_change(key, value)) {
          ++counts.salvaged;
          writer.add(std::move(*change));
        }
        return true;
      },
      [&](std::uint64_t page) {
        if (progress) progress(page, total);
      });
  writer.finish();
  return counts;
}

}  // namespace hone::storage
