#include "storage/migration.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "storage/store_error.hpp"

namespace hone::storage {
namespace {

constexpr std::array migrated_tables{Table::environments, Table::problems, Table::records, Table::trials,
                                     Table::quarantine,   Table::binaries, Table::commits};

const MigrationStep& step_from(std::span<const MigrationStep> steps, unsigned format, const std::string& directory) {
  const auto step = std::find_if(steps.begin(), steps.end(), [&](const auto& each) { return each.from == format; });
  if (step != steps.end()) return *step;
  throw StoreError(Errc::foreign_schema,
                   fmt::format("{} has format {}, from which this version knows no way", directory, format),
                   "open it once with an older version that does, or export it there and import it here");
}

int rewrite(MDB_txn* transaction, MDB_dbi tree, Table table, const MigrationStep& step) {
  MDB_cursor* opened = nullptr;
  if (const int code = mdb_cursor_open(transaction, tree, &opened)) return code;
  const std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> cursor(opened, &mdb_cursor_close);
  // Each entry is looked for anew: what is written may split the page that the cursor is on.
  Bytes from;
  for (;;) {
    MDB_val key = to_value(from), value{};
    int code = mdb_cursor_get(cursor.get(), &key, &value, from.empty() ? MDB_FIRST : MDB_SET_RANGE);
    if (code != 0) return code == MDB_NOTFOUND ? 0 : code;
    from.assign(to_bytes(key).begin(), to_bytes(key).end());
    const std::optional<Bytes> changed = step.rewrite(table, from, to_bytes(value));
    if (changed) {
      MDB_val same = to_value(from), next = to_value(*changed);
      code = mdb_put(transaction, tree, &same, &next, 0);
    } else {
      code = mdb_cursor_del(cursor.get(), 0);
    }
    if (code != 0) return code;
    from.push_back(std::byte{0});  // the least key beyond this one
  }
}

}  // namespace

std::span<const MigrationStep> migration_steps() noexcept { return {}; }

int migrate(MDB_txn* transaction, const Database& database, std::span<const MigrationStep> steps, unsigned from,
            unsigned to) {
  for (unsigned format = from; format < to; ++format) {
    const MigrationStep& step = step_from(steps, format, database.directory());
    for (const Table table : migrated_tables) {
      if (const int code = rewrite(transaction, database.table(table), table, step)) return code;
    }
  }
  const ByteView name = std::as_bytes(std::span(format_key));
  const Bytes number = encode_text(name, std::to_string(to));
  MDB_val key = to_value(name), value = to_value(number);
  return mdb_put(transaction, database.table(Table::meta), &key, &value, 0);
}

}  // namespace hone::storage
