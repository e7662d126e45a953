// A store in a user database.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "storage/database.hpp"
#include "storage/database_reader.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// Trials are kept for statistics and learning, binaries to save compiling; they must not grow without end.
struct Retention {
  std::uint64_t trials_per_problem = 512;  // in one environment; the oldest goes first
  std::uint64_t trials = 1'000'000;        // in all; the oldest of a problem picked at random goes first
  std::uint64_t binary_bytes = 1 << 30;    // pages of them all; of eight picked at random the oldest goes first
};

// Thread-safe. Every store is a party of its own: it hears of the commits of other stores, in this process or another.
class LmdbStore final : public Store {
 public:
  explicit LmdbStore(std::shared_ptr<Database> database, Retention retention = {});
  // Releases the store's claims.
  ~LmdbStore() override;

  std::optional<Found> find(const ProblemKey& key, std::string_view problem, const Environment& environment) override;
  std::vector<Quarantined> quarantined(const ProblemKey& key, std::uint64_t environment) override;
  std::vector<Trial> trials(const ProblemKey& key, std::uint64_t environment) override;
  std::optional<Binary> binary(const std::array<std::uint8_t, 16>& key) override;
  std::vector<Found> sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                            std::size_t limit) override;
  // Errc::forked, store_damaged, store_unavailable (the directory was removed), or LMDB's own, such as ENOSPC.
  std::error_code commit(std::span<const Change> changes) override;
  ForeignChanges foreign_changes() override;
  std::vector<Damage> damage() override;

  // Attempts of processes that are gone, as what they become. forget_attempts() when that is committed.
  std::vector<Quarantined> abandoned_attempts();
  std::error_code forget_attempts();

  std::error_code begin_attempt(const ProblemKey& key, std::string_view problem, std::uint64_t environment,
                                const Candidate& candidate);
  std::error_code end_attempt(const ProblemKey& key, std::uint64_t environment, const Candidate& candidate);
  bool claim(const ProblemKey& key, std::uint64_t environment, std::chrono::nanoseconds duration);
  void release(const ProblemKey& key, std::uint64_t environment);

  Database& database() noexcept { return *database_; }

 private:
  // Runs `read` on a pinned snapshot; damage that it meets is logged. Never throws for damage.
  template <class Result, class Read>
  Result reading(Result nothing, const Read& read);

  std::shared_ptr<Database> database_;
  DatabaseReader reader_;
  Retention retention_;
  std::uint64_t id_;
  std::mutex changes_mutex_;
  std::atomic<std::uint64_t> seen_transaction_{0};
  std::uint64_t seen_note_ = 0;  // guarded by changes_mutex_
  std::mutex attempts_mutex_;
  std::vector<Attempt> abandoned_;
};

}  // namespace hone::storage
