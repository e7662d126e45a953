// One write transaction over the named databases: how each change is applied.
#pragma once

#include <lmdb.h>

#include <optional>
#include <span>
#include <vector>

#include "storage/database.hpp"
#include "storage/lmdb_store.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// Used on one thread, inside Database::data().write(). Members return LMDB codes.
class WriteBatch {
 public:
  WriteBatch(const Database& database, MDB_txn* transaction, const Retention& retention) noexcept
      : database_(database), transaction_(transaction), retention_(retention) {}

  int apply(std::span<const Change> changes);
  // Tells other stores which records were changed.
  int note(std::uint64_t store);

 private:
  int apply(const PutEnvironment& change);
  int apply(const PutRecord& change);
  int apply(const PutTrial& change);
  int apply(const PutQuarantine& change);
  int apply(const PutBinary& change);
  int apply(const MergeRecord& change);
  int apply(const MergeTrial& change);
  int apply(const Forget& change);
  // The value of the key, decoded; nothing where there is none or it is damaged.
  template <class Value, class Decode>
  int kept(Table table, ByteView key, Decode decode, std::optional<Value>& value);
  int put(Table table, ByteView key, ByteView value, unsigned flags = 0);
  int put_problem(const ProblemKey& key, const std::string& text);
  // Number of the tree's next entry with this prefix, and how many there are when they are numbered without gaps.
  int numbers(Table table, ByteView prefix, std::uint64_t& first, std::uint64_t& next);
  int erase_prefix(Table table, ByteView prefix);
  int bound_trials();
  int bound_binaries();

  const Database& database_;
  MDB_txn* transaction_;
  const Retention& retention_;
  std::vector<ProblemKey> changed_;
  bool put_binary_ = false;
};

}  // namespace hone::storage
