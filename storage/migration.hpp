// How a database of an older format becomes one of the present format.
#pragma once

#include <lmdb.h>

#include <functional>
#include <optional>
#include <span>

#include "storage/codec.hpp"
#include "storage/database.hpp"

namespace hone::storage {

// From one format to the next.
struct MigrationStep {
  unsigned from = 0;  // the one after it is from + 1
  // The value that takes the place of an entry's; nothing: the entry goes. Called for every entry of every table but
  // `meta`, in no order that counts. What it throws ends the migration.
  std::function<std::optional<Bytes>(Table table, ByteView key, ByteView value)> rewrite;
};

// The steps that this version knows, one for each older format that was ever released. Format 1 is the first: none.
std::span<const MigrationStep> migration_steps() noexcept;

// Applies the steps from format `from` to format `to`, and raises the number in `meta`, all in the transaction. Returns
// an LMDB code. Throws StoreError(foreign_schema) when a step is missing.
int migrate(MDB_txn* transaction, const Database& database, std::span<const MigrationStep> steps, unsigned from,
            unsigned to);

}  // namespace hone::storage
