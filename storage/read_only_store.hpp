// A store in a database that is never written: a system database, or a user database that cannot be written.
//
// Opened without LMDB, without locks and without touching anything.
#pragma once

#include <string>

#include "storage/database_reader.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// Thread-safe. When somebody else writes the database meanwhile, a read may meet pages that change under it; page
// checks and checksums notice, and it is repeated.
class ReadOnlyStore final : public Store {
 public:
  // `path`: the data file or its directory. Newer formats are read as far as they are known. Throws StoreError.
  explicit ReadOnlyStore(const std::string& path);
  ~ReadOnlyStore() override;

  std::optional<Found> find(const ProblemKey& key, std::string_view problem, const Environment& environment) override;
  std::vector<Quarantined> quarantined(const ProblemKey& key, std::uint64_t environment) override;
  std::vector<Trial> trials(const ProblemKey& key, std::uint64_t environment) override;
  std::optional<Binary> binary(const std::array<std::uint8_t, 16>& key) override;
  std::vector<Found> sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                            std::size_t limit) override;
  std::error_code commit(std::span<const Change> changes) override;  // Errc::store_unavailable
  ForeignChanges foreign_changes() override { return {}; }
  std::vector<Damage> damage() override { return reader_->damage().take(); }

  unsigned format() const noexcept { return format_; }
  // For going over everything.
  DatabaseReader& reader() noexcept { return *reader_; }
  // Throws DamagedPage.
  Snapshot snapshot() const { return file_->newest(); }

 private:
  template <class Result, class Read>
  Result reading(Result nothing, const Read& read);

  int descriptor_ = -1;
  std::optional<PageFile> file_;
  std::optional<DatabaseReader> reader_;
  unsigned format_ = 0;
};

}  // namespace hone::storage
